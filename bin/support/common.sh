# Shared by the scripts in bin/: folders, and the choice of a Ruby. Sourced, not run. Sets root, state and cache.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
state="$root/tmp/setup"
[ -n "${HOME:-}" ] || unset HOME
export HOME="${HOME-$(cd ~ && pwd)}" # without it, the shell knows the user's folder
cache="${XDG_CACHE_HOME:-$HOME/.cache}/tiercel"

# Unsets the variables of an outer `bundle exec`, which would load its bundle here.
forget_outer_bundle() {
  unset RUBYOPT RUBYLIB BUNDLE_BIN_PATH BUNDLER_VERSION BUNDLER_SETUP
}

# Checks that a Ruby is new enough, has YJIT and can build extensions. Prints its real path (not a shim's). The list
# has the oldest usable patch levels: dalli aborts on older ones.
suitable_ruby() {
  [ -x "$1" ] || return 1
  RUBYOPT='' RUBYLIB='' "$1" --disable-gems -rrbconfig -e '
    major, minor, patch = RUBY_VERSION.split(".").map(&:to_i)
    oldest_patch = { [3, 3] => 8, [3, 4] => 3 }[[major, minor]]
    new_enough = major >= 4 || (oldest_patch && patch >= oldest_patch)
    headers = File.exist?(File.join(RbConfig::CONFIG["rubyhdrdir"].to_s, "ruby.h"))
    exit 1 unless RUBY_ENGINE == "ruby" && new_enough && defined?(RubyVM::YJIT) && headers
    puts RbConfig.ruby' 2>/dev/null
}

# Reads the Ruby that bin/setup chose, and gem_home if its gems could not be installed beside it.
load_ruby() {
  ruby='' gem_home=''
  [ -f "$state/ruby" ] && ruby=$(cat "$state/ruby")
  [ -f "$state/gem_home" ] && gem_home=$(cat "$state/gem_home")
  [ -n "$ruby" ] && [ -x "$ruby" ]
}

# load_setup [STAMP]: loads a complete set-up. An interrupted one has a Ruby but lacks the stamp of a later step.
load_setup() {
  load_ruby && [ -f "$state/${1:-gems}" ] && [ -f "$state/extensions" ]
}

# Puts that Ruby, its gems and its executables first in the path.
use_setup() {
  export PATH="$(dirname "$ruby"):$PATH"
  export BUNDLE_SILENCE_ROOT_WARNING=1
  [ -z "$gem_home" ] || export GEM_HOME="$gem_home" PATH="$gem_home/bin:$PATH"
}
