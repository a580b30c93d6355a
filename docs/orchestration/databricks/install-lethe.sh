#!/bin/bash
# Init script of a cluster: installs Lethe on the driver and on every executor.
set -euo pipefail
/databricks/python/bin/pip install --no-deps /Volumes/main/default/wheels/lethe_deid-0.1.0-cp39-abi3-manylinux_2_28_x86_64.whl
