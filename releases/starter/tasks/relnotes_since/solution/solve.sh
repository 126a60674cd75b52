#!/bin/sh
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Adds --since and the section for breaking changes.
set -eu
cd /app
if grep -q -e --since relnotes; then exit 0; fi
git apply --whitespace=nowarn --unidiff-zero - <<'PATCH'
--- a/relnotes
+++ b/relnotes
@@ -7,3 +7,3 @@
     cat <<'TEXT'
-usage: relnotes [--title TEXT]
+usage: relnotes [--since TAG] [--title TEXT]
 
@@ -11,2 +11,3 @@
 
+  -s, --since TAG    what came after a tag, not everything
   -t, --title TEXT   the title (default: Release notes)
@@ -22,2 +23,3 @@
 title='Release notes'
+since=''
 while [ $# -gt 0 ]; do
@@ -27,2 +29,9 @@
             title=$2
+            shift 2
+            ;;
+        -s | --since)
+            [ $# -ge 2 ] || fail "$1 needs a value"
+            git rev-parse --git-dir >/dev/null 2>&1 || fail 'not in a git repository'
+            git show-ref --verify --quiet "refs/tags/$2" || fail "no such tag: $2"
+            since=$2
             shift 2
@@ -41,3 +50,3 @@
 commits() {
-    git log --no-merges --format='%h%x09%s'
+    git log --no-merges --format='%h%x09%s' ${since:+"refs/tags/$since..HEAD"}
 }
@@ -53,3 +62,3 @@
             subject = substr($0, length($1) + 2)
-            known = match(subject, /^(feat|fix)(\([^)]*\))?: */)
+            known = match(subject, /^(feat|fix)(\([^)]*\))?!?: */)
             head = substr(subject, 1, RLENGTH)
@@ -60,3 +69,3 @@
                 if (match(head, /\(.*\)/)) scope = "**" substr(head, RSTART + 1, RLENGTH - 2) "** "
-                match(subject, /^[a-z]+(\([^)]*\))?: */)
+                match(subject, /^[a-z]+(\([^)]*\))?!?: */)
                 entry(scope substr(subject, RLENGTH + 1))
@@ -67,3 +76,32 @@
 
+# The commits that break something, in a section of their own.
+breaking() {
+    git log --no-merges --format='%h%x1f%s%x1f%B%x1e' ${since:+"refs/tags/$since..HEAD"} | awk '
+        BEGIN { RS = "\036"; FS = "\037" }
+        NF >= 3 {
+            hash = $1
+            sub(/^\n/, "", hash)
+            subject = $2
+            noted = 0
+            lines = split($3, line, "\n")
+            for (i = 1; i <= lines && !noted; i++) {
+                if (noted = index(line[i], "BREAKING CHANGE: ") == 1) note = substr(line[i], 18)
+            }
+            if (!noted && subject !~ /^[a-z]+(\([^)]*\))?!:/) next
+            scope = ""
+            if (match(subject, /^[a-z]+(\([^)]*\))?!?: */)) {
+                head = substr(subject, 1, RLENGTH)
+                subject = substr(subject, RLENGTH + 1)
+                if (match(head, /\(.*\)/)) {
+                    scope = "**" substr(head, RSTART + 1, RLENGTH - 2) "** "
+                }
+            }
+            if (!printed++) printf "\n## Breaking changes\n\n"
+            printf "- %s%s (%s)\n", scope, noted ? note : subject, hash
+        }
+    '
+}
+
 printf '# %s\n' "$title"
+breaking
 section Features feat
--- a/README.md
+++ b/README.md
@@ -10,3 +10,4 @@
 Subjects such as `feat: …`, `fix: …` and `feat(parser): …` go to the sections Features and Fixes,
-everything else to Other. Merges are left out. It needs a POSIX `sh`, git and awk.
+everything else to Other. Merges are left out. Breaking changes (`feat!: …`, or a line
+`BREAKING CHANGE: …` in the message) stand on top. `--since TAG` leaves out what a release had already. It needs a POSIX `sh`, git and awk.
 
PATCH
