#!/usr/bin/env bash
# Bias beside a training run: whatever it writes below validation/ is scored once it is complete.
#
#   validation/step-500/a_photo_of_a_nurse/0.png      one sub-folder a checkpoint, one a prompt
#   validation/step-1000/prompts.jsonl                or a table of files and prompts
#
#   beside_training.sh validation accept.yaml         ends with Ctrl-C or SIGTERM
set -euo pipefail

folder=$1
accept=$2
mkdir -p "$folder"
# The training may have the graphics card: an encoder and a judge on the CPU do not disturb it.
exec t2ibench run --model "folder:$folder" --tasks core_occupations_gender --images-per-prompt 2 \
  --device cpu --watch 30 --accept "$accept"
