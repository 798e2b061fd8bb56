# Downloads source packages of another Debian release from this machine's mirrors. Sourced by build_ruby.sh and
# build_valkey.

# debian_sources SUITE: prints its deb-src lines in apt's one-line form. Reads both of apt's formats (.list and deb822
# .sources).
debian_sources() {
  local suite=$1 codename
  codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
  {
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null | one_line_sources
    for file in /etc/apt/sources.list.d/*.sources; do
      [ ! -f "$file" ] || { cat "$file"; printf '\n\n'; }
    done | deb822_sources
  } | awk -v codename="$codename" -v suite="$suite" '
    $3 == codename || $3 == suite || $3 == "stable" || $3 == "testing" {
      key = $1 == "-" ? "" : "[signed-by=" $1 "] "
      line = "deb-src " key $2 " " suite " main"
      if (!seen[line]++) print line
    }'
}

# Both print "KEYRING URI SUITE"; KEYRING is "-" if there is none or the list itself contains it.
one_line_sources() {
  awk '
    $1 == "deb" || $1 == "deb-src" {
      key = "-"
      if (match($0, /signed-by=[^] \t]+/)) key = substr($0, RSTART + 10, RLENGTH - 10)
      sub(/\[[^]]*\]/, "")
      print key, $2, $3
    }'
}

deb822_sources() {
  awk '
    function flush(  i, j, u, s) {
      if (!disabled)
        for (i = split(uris, u, " "); i > 0; i--)
          for (j = split(suites, s, " "); j > 0; j--) print (key ~ /^\// ? key : "-"), u[i], s[j]
      uris = suites = key = field = ""
      disabled = 0
    }
    /^#/ { next }
    /^[ \t]*$/ { flush(); next }
    /^[A-Za-z-]+:/ { field = tolower($1); sub(/^[^:]*:[ \t]*/, "") }
    field == "uris:" { uris = uris " " $0 }
    field == "suites:" { suites = suites " " $0 }
    field == "signed-by:" { key = key $0 }
    field == "enabled:" && /^no/ { disabled = 1 }
    END { flush() }'
}

# download_source FOLDER SUITE PACKAGE: uses its own package lists and leaves the system's unchanged.
download_source() {
  local work=$1
  mkdir -p "$work/lists/partial" "$work/archives/partial" "$work/parts"
  debian_sources "$2" >"$work/sources.list"
  cat "$work/sources.list"
  [ -s "$work/sources.list" ] || { printf 'no mirror of Debian among the sources of apt\n'; return 1; }
  local own=(-o "Dir::Etc::SourceList=$work/sources.list" -o "Dir::Etc::SourceParts=$work/parts"
             -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work" -o "Dir::State::status=/var/lib/dpkg/status"
             -o Acquire::Retries=3 -o APT::Sandbox::User=)
  apt-get "${own[@]}" update && cd "$work" && apt-get "${own[@]}" source --download-only "$3"
}
