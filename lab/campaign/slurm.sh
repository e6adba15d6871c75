#!/usr/bin/env bash
# Runs a campaign as array jobs of Slurm. On the machine from which jobs are submitted:
#
#   lab/campaign/slurm.sh FILE DIR
#
# submits as many arrays as it takes, since an array is bounded. The same line goes on where jobs failed, timed out or were
# preempted: a cell that has its result ends at once. FILE, DIR and the program must be seen by all nodes.
#
#   PROGRAM  the program; `campaign` where nothing is said
#   CELLS    cells that a task runs, one after the other or on its processors; 1. For short cells say 100 or more
#   TASKS    tasks of an array; 1000, one less than Slurm's own bound (scontrol show config | grep MaxArraySize)
#
# What is written behind #SBATCH are the sbatch options of each task; those in SBATCH_… variables win over them.
#SBATCH --job-name=campaign
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --time=04:00:00
#SBATCH --requeue
#SBATCH --output=campaign-%A.out
#SBATCH --open-mode=append
set -euo pipefail

if [ $# != 2 ]; then
    echo "usage: ${0##*/} FILE DIR" >&2
    exit 2
fi
file=$1 into=$2
program=${PROGRAM:-campaign} cells=${CELLS:-1} tasks=${TASKS:-1000}

if [ -z "${SLURM_ARRAY_TASK_ID-}" ]; then
    count=$("$program" "$file" --count)
    all=$(((count + cells - 1) / cells))
    for ((offset = 0; offset < all; offset += tasks)); do
        last=$((all - offset < tasks ? all - offset - 1 : tasks - 1))
        OFFSET=$offset sbatch --array="0-$last" --export=ALL "$0" "$file" "$into"
    done
    exit
fi

first=$(((${OFFSET:-0} + SLURM_ARRAY_TASK_ID) * cells))
exec "$program" "$file" --into "$into" --jobs "${SLURM_CPUS_PER_TASK:-1}" --cell "$first-$((first + cells - 1))"
