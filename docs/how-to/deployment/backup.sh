#!/bin/sh
# Copies the store to a folder, checks the copy, and deletes copies that are older than 14 days.
set -eu
folder=$1
copy=$folder/store-$(date -u +%Y%m%dT%H%M%SZ).db
comptroller backup "$copy.unchecked"
comptroller check --db "$copy.unchecked"
mv "$copy.unchecked" "$copy"
find "$folder" -name 'store-*' -mtime +14 -delete
