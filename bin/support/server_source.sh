# Builds a server of Redis' family from a source package of another Debian release. Sourced by build_valkey and
# build_redis_6; needs common.sh, steps.sh, packages.sh and debian_source.sh.

# build_server SUITE PACKAGE: builds the server once in the user's cache, and prints its path.
build_server() {
  local suite=$1 package=$2 server="$cache/$2-$1/$2-server" work status missing
  log="$cache/$package.log"
  mkdir -p "$cache"
  lock "$cache/$package.lock"
  if [ ! -x "$server" ]; then
    on_debian || { say "$0: not a Debian; set REDIS_SERVER to a $package-server that you have"; return 1; }
    missing=$(echo $(not_installed build-essential dpkg-dev libssl-dev))
    [ -z "$missing" ] || { say "To build $package, type: apt-get install $missing"; return 1; }
    work=$(mktemp -d "$cache/build.XXXXXX")
    step "$package: source package of Debian $suite" download_source "$work" "$suite" "$package" &&
      step "$package: compiling" compile_server "$work" "$package" "$server"
    status=$?
    rm -rf "$work"
    [ "$status" -eq 0 ] || return "$status"
  fi
  printf '%s\n' "$server"
}

# Builds without systemd and with the C library's allocator, so that no other package is needed.
compile_server() {
  local package=$2 server=$3
  cd "$1" && tar xf "$package"*.orig.tar.* && cd "$package"*/ || return
  nice make -C src -j1 BUILD_TLS=yes MALLOC=libc USE_SYSTEMD=no "$package-server" || return
  mkdir -p "$(dirname "$server")" && cp "src/$package-server" "$server.new" && mv "$server.new" "$server"
}
