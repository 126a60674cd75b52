#!/bin/sh
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Counts releases as numbers, exports before anything is touched, and adds --rollback and --list.
set -eu
cd /app
if grep -q -e --rollback deploy.sh; then exit 0; fi
git apply --whitespace=nowarn --unidiff-zero - <<'PATCH'
--- a/README.md
+++ b/README.md
@@ -9,2 +9,5 @@ The pages are below `site`. `deploy.sh` puts what is committed live:
 
+    sh deploy.sh --rollback               # the release before is live again
+    sh deploy.sh --list                   # what is there, and what is live
+
 It makes a numbered release below `TARGET/releases`, lets the link `TARGET/current` point to it, removes old
--- a/deploy.sh
+++ b/deploy.sh
@@ -13,3 +13,3 @@ usage() {
     cat <<'TEXT'
-usage: deploy.sh [--conf FILE]
+usage: deploy.sh [--conf FILE] [--rollback | --list]
 
@@ -18,2 +18,4 @@ Puts the committed pages live: a new release below TARGET/releases, with TARGET/
   --conf FILE   the settings (default: config/deploy.conf)
+  --rollback    make the release before the live one live again
+  --list        print the releases and which one is live
   --help        this text
@@ -29,2 +31,3 @@ fail() { # fail CODE TEXT
 
+action=deploy
 while [ $# -gt 0 ]; do
@@ -36,2 +39,7 @@ while [ $# -gt 0 ]; do
             ;;
+        --rollback | --list)
+            [ "$action" = deploy ] || [ "$action" = "${1#--}" ] || fail 2 '--rollback and --list exclude each other'
+            action=${1#--}
+            shift
+            ;;
         --help)
@@ -50,16 +58,59 @@ KEEP=${KEEP:-5}
 
+numbers() { # the releases, lowest first
+    for path in "$TARGET"/releases/*; do
+        name=${path##*/}
+        case $name in
+            '' | 0* | *[!0-9]*) continue ;;
+        esac
+        if [ -d "$path" ]; then printf '%s\n' "$name"; fi
+    done | sort -n
+}
+
+live() { # the number of the live release, if one is
+    link=$(readlink "$TARGET/current" 2>/dev/null) || return 0
+    numbers | grep -x -e "${link##*/}" || true
+}
+
+switch() { # switch NUMBER
+    ln -sfn "releases/$1" "$TARGET/current"
+    printf 'live: %s\n' "$1"
+}
+
+case $action in
+    list)
+        now=$(live)
+        numbers | while read -r number; do
+            if [ "$number" = "$now" ]; then printf '%s live\n' "$number"; else printf '%s\n' "$number"; fi
+        done
+        exit 0
+        ;;
+    rollback)
+        now=$(live)
+        [ -n "$now" ] || fail 1 'nothing to roll back to'
+        before=$(numbers | awk -v now="$now" '$1 + 0 < now + 0' | tail -n 1)
+        [ -n "$before" ] || fail 1 'nothing to roll back to'
+        switch "$before"
+        exit 0
+        ;;
+esac
+
+# Everything that can fail happens beside the releases.
+scratch=$(mktemp -d)
+trap 'rm -rf "$scratch"' EXIT
+git -C "$here" archive -o "$scratch/pages.tar" HEAD site || fail 1 'the pages cannot be exported'
+mkdir "$scratch/pages"
+tar -x -C "$scratch/pages" --strip-components 1 -f "$scratch/pages.tar" || fail 1 'the pages cannot be exported'
+chmod 755 "$scratch/pages"
+
 mkdir -p "$TARGET/releases"
-latest=$(ls "$TARGET/releases" | tail -n 1)
+latest=$(numbers | tail -n 1)
 number=$((${latest:-0} + 1))
+mkdir "$TARGET/releases/$number"
+cp -R "$scratch/pages/." "$TARGET/releases/$number/"
+switch "$number"
 
-mkdir -p "$TARGET/releases/$number"
-git -C "$here" archive HEAD site | tar -x -C "$TARGET/releases/$number" --strip-components 1
-ln -sfn "releases/$number" "$TARGET/current"
-printf 'live: %s\n' "$number"
-
-count=$(ls "$TARGET/releases" | wc -l)
-for old in $(ls "$TARGET/releases"); do
-    [ "$count" -gt "$KEEP" ] || break
-    rm -rf "${TARGET:?}/releases/$old"
-    count=$((count - 1))
+count=$(numbers | wc -l)
+now=$(live)
+numbers | head -n "$((count > KEEP ? count - KEEP : 0))" | while read -r old; do
+    if [ "$old" != "$now" ]; then rm -rf "${TARGET:?}/releases/$old"; fi
 done
PATCH
