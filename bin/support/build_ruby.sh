# Builds Ruby from Debian's source package, into the user's cache. Sourced by bin/setup.

ruby_version=3.3.8
ruby_source=ruby3.3=3.3.8-2
ruby_suite=trixie
built_ruby="$cache/ruby-$ruby_version"

# deb-src lines for $ruby_suite at the mirrors that this machine takes its own release from, in apt's
# one-line form. Reads both forms that apt knows (.list and deb822 .sources).
ruby_sources() {
  local codename
  codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
  {
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null | one_line_sources
    for file in /etc/apt/sources.list.d/*.sources; do
      [ ! -f "$file" ] || { cat "$file"; printf '\n\n'; }
    done | deb822_sources
  } | awk -v codename="$codename" -v suite="$ruby_suite" '
    $3 == codename || $3 == suite || $3 == "stable" || $3 == "testing" {
      key = $1 == "-" ? "" : "[signed-by=" $1 "] "
      line = "deb-src " key $2 " " suite " main"
      if (!seen[line]++) print line
    }'
}

# Both print "KEYRING URI SUITE", with "-" for none (or one that is written into the list itself).
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

# Downloads with lists of its own: the system's stay as they are.
download_ruby() {
  local work=$1
  mkdir -p "$work/lists/partial" "$work/archives/partial" "$work/parts"
  ruby_sources >"$work/sources.list"
  cat "$work/sources.list"
  [ -s "$work/sources.list" ] || { printf 'no mirror of Debian among the sources of apt\n'; return 1; }
  local own=(-o "Dir::Etc::SourceList=$work/sources.list" -o "Dir::Etc::SourceParts=$work/parts"
             -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work" -o "Dir::State::status=/var/lib/dpkg/status"
             -o Acquire::Retries=3 -o APT::Sandbox::User=)
  apt-get "${own[@]}" update && cd "$work" && apt-get "${own[@]}" source --download-only "$ruby_source"
}

compile_ruby() {
  local work=$1
  cd "$work" && tar xf ruby*.orig.tar.* && cd ruby*/ || return
  ./configure --prefix="$built_ruby" --enable-yjit --enable-shared --disable-install-doc || return
  make -j"$(nproc 2>/dev/null || echo 2)" || return
  # By way of a second folder, so that a half-installed Ruby is never taken for one.
  make install HAVE_BASERUBY=no DESTDIR="$work/installed" || return
  rm -rf "$built_ruby" && mv "$work/installed$built_ruby" "$built_ruby"
}

need_build_packages() {
  local packages
  packages=$(not_installed $ruby_build_packages; command -v rustc >/dev/null || echo rustc)
  packages=$(echo $packages)
  [ -n "$packages" ] || return 0
  if is_root; then
    step "Debian packages to build Ruby with: $packages" install_packages $packages
  else
    say "To build Ruby, these Debian packages are needed. Type:"
    say "  sudo apt-get update && sudo apt-get install $packages"
    return 1
  fi
}

build_ruby() {
  local work
  mkdir -p "$cache"
  lock "$cache/ruby.lock"
  [ -z "$(suitable_ruby "$built_ruby/bin/ruby")" ] || return 0
  need_build_packages || return
  work=$(mktemp -d "$cache/build.XXXXXX")
  step "Ruby $ruby_version: source package of Debian $ruby_suite" download_ruby "$work" &&
    step "Ruby $ruby_version: compiling with YJIT (5 minutes on 2 cores)" compile_ruby "$work"
  local status=$?
  rm -rf "$work"
  return "$status"
}
