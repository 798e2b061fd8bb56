# Debian packages for the tests, the lab and building Ruby. Sourced by bin/setup.

# PROGRAM:PACKAGE or PATH:PACKAGE, one per line. A program that exists is not installed again.

# Compiles the extensions.
build_programs='
/etc/ssl/certs/ca-certificates.crt:ca-certificates
cc:build-essential
c++:build-essential
make:build-essential
git:git
'

# Compiles the gems of Gemfile and of the suites.
gem_programs='
cmake:cmake
/usr/include/postgresql/libpq-fe.h:libpq-dev
'

# Servers that the lab starts to compare stores.
cache_programs='
memcached:memcached
redis-server:redis-server
'

# Servers that the tests and the lab start.
server_programs="$cache_programs
initdb:postgresql
"

# Needed only by the tests.
test_programs='
clang:clang
chromium:chromium
'

# Needed only by `bin/test --long`: the segment's C tests with musl, and for ARM64 under an emulator.
long_programs='
musl-gcc:musl-tools
aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu
/usr/aarch64-linux-gnu/include/stdio.h:libc6-dev-arm64-cross
qemu-aarch64-static:qemu-user-static
'

# Needed to build Ruby. YJIT is built by rustc (1.58 or later); an existing one is used.
ruby_build_packages='ca-certificates build-essential dpkg-dev xz-utils libssl-dev libyaml-dev libffi-dev zlib1g-dev libgmp-dev'

on_debian() { [ -f /etc/debian_version ] && command -v apt-get >/dev/null; }

is_root() { [ "$(id -u)" -eq 0 ]; }

has_program() {
  case $1 in /*) [ -e "$1" ]; return ;; esac
  command -v "$1" >/dev/null || [ -x "/usr/sbin/$1" ] || ls /usr/lib/postgresql/*/bin/"$1" >/dev/null 2>&1
}

# Prints the names of the packages whose programs are missing.
missing_packages() {
  local line
  for line in $programs; do
    has_program "${line%%:*}" || printf '%s\n' "${line#*:}"
  done | sort -u
  # The libraries of the sanitizers and the fuzzer have a separate package, named after clang's version.
  if command -v clang >/dev/null && [ ! -f "$(clang -print-file-name=libclang_rt.asan-"$(uname -m)".a)" ] &&
     [ ! -f "$(clang -print-resource-dir)/lib/linux/libclang_rt.asan-$(uname -m).a" ]; then
    printf 'libclang-rt-%s-dev\n' "$(clang -dumpversion | cut -d . -f 1)"
  fi
}

not_installed() {
  local package
  for package in "$@"; do
    dpkg-query --show --showformat='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || printf '%s\n' "$package"
  done
}

# This file prevents the installation of a server's package from starting it. It is removed afterwards, also one that
# an interrupted set-up left.
forbid_services() {
  [ ! -e /usr/sbin/policy-rc.d ] || grep -q tiercel /usr/sbin/policy-rc.d || return 0
  printf '#!/bin/sh\n# of the set-up of tiercel\nexit 101\n' >/usr/sbin/policy-rc.d
  chmod +x /usr/sbin/policy-rc.d
  trap 'rm -f /usr/sbin/policy-rc.d' EXIT
}

# Tests and the lab start their own servers, so the system's must not start at boot.
disable_services() {
  local service
  command -v systemctl >/dev/null || return 0
  for service in "$@"; do
    case $service in
      memcached | redis-server | postgresql) systemctl disable "$service" || true ;;
    esac
  done
}

# install_packages PACKAGE...: must run as root.
install_packages() (
  export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1
  forbid_services
  dpkg --configure -a # finishes what an interrupted installation left
  # Continues even if another vendor's package list is unreadable.
  apt-get -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3 update || true
  apt-get -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3 install --yes --no-install-recommends "$@" || exit
  disable_services "$@"
)
