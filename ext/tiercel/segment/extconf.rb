# frozen_string_literal: true

require "mkmf"

abort "tiercel: the segment needs C11 atomics" unless have_header("stdatomic.h")

append_cflags(%w[-std=gnu11 -O3 -Wall -Wextra -Wno-unused-parameter -Wno-declaration-after-statement
                 -Werror=int-conversion -Werror=incompatible-pointer-types -Werror=implicit-function-declaration
                 -fvisibility=hidden])
# The portable build uses POSIX and C11 alone, as on systems other than Linux: `ruby extconf.rb --enable-portable`, or
# `gem install tiercel -- TIERCEL_PORTABLE=1`.
$CPPFLAGS << " -DTSEG_PORTABLE" if enable_config("portable") || ENV["TIERCEL_PORTABLE"]
if ENV["TIERCEL_SANITIZE"]
  append_cflags(%w[-g -O1 -fno-omit-frame-pointer])
  # Ruby raises with a longjmp that AddressSanitizer does not see. The skipped stack frames would stay poisoned.
  $CFLAGS << " -fsanitize=address,undefined --param=asan-stack=0"
  $LDFLAGS << " -fsanitize=address,undefined"
end

$srcs = ["segment_ext.c"]
require_relative "../precompiled"
create_makefile "tiercel/segment_ext"
