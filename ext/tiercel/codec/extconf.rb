# frozen_string_literal: true

require "mkmf"

have_library("dl", "dlopen") # of older C libraries

append_cflags(%w[-std=gnu11 -Wall -Wextra -Wno-unused-parameter -fvisibility=hidden])
$defs << "-DTIERCEL_UNKNOWN_HASH_LAYOUT" if ENV["TIERCEL_UNKNOWN_HASH_LAYOUT"]
if ENV["TIERCEL_SANITIZE"]
  append_cflags(%w[-g -O1 -fno-omit-frame-pointer])
  $CFLAGS << " -fsanitize=address,undefined -fno-sanitize-recover=all"
  $LDFLAGS << " -fsanitize=address,undefined"
end

require_relative "../precompiled"
create_makefile "tiercel/codec_ext"
