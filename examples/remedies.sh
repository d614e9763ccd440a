#!/bin/sh
# What three remedies change and cost: another checkpoint, a rewriter, and Fair Diffusion.
#
#   sh examples/remedies.sh                in the checkout, with the bundled models; minutes
#   sh examples/remedies.sh --limit 4      a trial
#
# It prints the two tables of docs/frontier.md ("Three remedies of one model"), and writes two pages.
# Runs that exist are resumed, so a second call only prints.
set -eu

tasks=occupations_t2iat,t2iat_science_arts,t2iat_flowers_insects
guided="--model-args steps=4,guidance=1.5"
hook=examples.debias.fair_diffusion:fair_diffusion
settings=hook.scale=1,hook.threshold=0,hook.warmup=0,hook.momentum=0

measure() {
    name=$1
    shift
    t2ibench --tasks "$tasks" --judge toyland --name "$name" "$@"
}

# Four steps and guidance of 1.5 everywhere, because Fair Diffusion needs both: what differs is the
# remedy alone.
measure remedies-none --model toy $guided "$@"
measure remedies-checkpoint --model toy-fair $guided "$@"
measure remedies-rewriter --model toy $guided \
    --rewriter file:examples/rewrites/balanced.jsonl --rewriter-args missing=keep "$@"
measure remedies-hook --model toy --model-args "steps=4,guidance=1.5,hook=$hook,$settings" "$@"

runs="runs/remedies-none runs/remedies-checkpoint runs/remedies-rewriter runs/remedies-hook"
t2ibench frontier $runs --task occupations_t2iat
t2ibench frontier $runs --task occupations_t2iat --format html
t2ibench where $runs --task occupations_t2iat
t2ibench where $runs --task occupations_t2iat --format html
