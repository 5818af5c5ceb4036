#!/bin/sh
# Browser tests need a Chromium. Installs Debian's where it is missing and may be installed, and otherwise says what to do.
set -eu

for name in "${CHROMIUM:-}" chromium chromium-browser google-chrome; do
  if [ -n "$name" ] && command -v "$name" >/dev/null; then exit 0; fi
done

if [ "$(id -u)" = 0 ]; then become=""; elif sudo -n true 2>/dev/null; then become="sudo"; else become="no"; fi

if [ "$become" = "no" ] || ! command -v apt-get >/dev/null; then
  echo "Browser tests need Chromium. Install it (on Debian: sudo apt-get install chromium)," >&2
  echo "or name one: make test CHROMIUM=/path/to/chromium" >&2
  exit 1
fi

echo "Installing chromium by apt-get"
export DEBIAN_FRONTEND=noninteractive
$become apt-get update -qq
$become apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null
