# frozen_string_literal: true

# The environment of compilations whose speed no test needs. An optimized one takes several times as long.
UNOPTIMIZED = { "MAKEFLAGS" => 'CFLAGS=-std=gnu11\ -O0\ -fPIC\ -fvisibility=hidden' }.freeze
