# Builds Ruby from Debian's source package into the user's cache. Sourced by bin/setup.

ruby_version=3.3.8
ruby_source=ruby3.3=3.3.8-2
ruby_suite=trixie
built_ruby="$cache/ruby-$ruby_version"

compile_ruby() {
  local work=$1
  cd "$work" && tar xf ruby*.orig.tar.* && cd ruby*/ || return
  ./configure --prefix="$built_ruby" --enable-yjit --enable-shared --disable-install-doc || return
  make -j"$(nproc 2>/dev/null || echo 2)" || return
  # Installs into a second folder first, so that a half-installed Ruby is never used.
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
  [ -z "$(suitable_ruby "$built_ruby/bin/ruby")" ] || return 0
  need_build_packages || return
  work=$(mktemp -d "$cache/build.XXXXXX")
  step "Ruby $ruby_version: source package of Debian $ruby_suite" download_source "$work" "$ruby_suite" "$ruby_source" &&
    step "Ruby $ruby_version: compiling with YJIT (3 to 10 minutes on 2 cores)" compile_ruby "$work"
  local status=$?
  rm -rf "$work"
  return "$status"
}
