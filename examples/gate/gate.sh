#!/usr/bin/env bash
# Decide about a model in continuous integration: measure it as planned, decide, keep what it rests on.
#
#   gate.sh PLAN NAME [flags of `t2ibench run`, such as --model ./checkpoint]
#   BASE=runs/before gate.sh PLAN NAME --model ./base --model-args lora=./lora
#
# PLAN is written once, by a person, before the first run: t2ibench plan --accept accept.yaml. It lies in
# the repository, so that a change of a limit is a commit that somebody reviews. NAME is a commit's or a
# date's. With BASE, the run of the model before, scenarios that compare are decided, too; give it only
# with a PLAN that has such scenarios, for otherwise BASE is decided about as well. The status is
# that of the decision: 0 pass, 4 fail, 3 undecided; ARTEFACTS is a folder to keep, whatever it is.
set -euo pipefail

plan=$1
name=$2
shift 2
artefacts=${ARTEFACTS:-artefacts}
runs=${RUNS:-runs}
mkdir -p "$artefacts"

# Resumes where an earlier try stopped. Status 3 is evidence that is missing, which the decision names.
measured=0
t2ibench run --plan "$plan" --name "$name" --output-dir "$runs" "$@" || measured=$?
if [ "$measured" -ne 0 ] && [ "$measured" -ne 3 ]; then
  exit "$measured"
fi

decided=0
t2ibench decide ${BASE:+"$BASE"} "$runs/$name" --plan "$plan" \
  --format terminal,markdown,json,junit,html --output "$artefacts/decision" || decided=$?
cat "$artefacts/decision.txt"
cp "$plan" "$runs/$name/results.json" "$runs/$name/report.html" "$artefacts/"
exit "$decided"
