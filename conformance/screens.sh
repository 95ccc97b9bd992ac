#!/usr/bin/env bash
# Writes the captures in docs/tui.md and the layouts in testdata/tui anew, from the
# screens of the real program. Needs tmux. The tests fail while they are not up to date.
set -euo pipefail
cd "$(dirname "$0")"
go test -count=1 -run 'TestBrowser/screens' -update-screens .
git --no-pager diff --stat -- ../docs/tui.md testdata/tui || true
