# frozen_string_literal: true

# Prints a header that declares the functions of the segment's core: for each file, in the order of the layers, the
# header with its types, and then its functions.
folder = ARGV.fetch(0)
File.read("#{folder}/segment.c").scan(/^#include "(\w+)\.c"/).flatten.each do |name|
  code = File.read("#{folder}/#{name}.c").gsub(%r{/\*.*?\*/}m, "")
  puts code.scan(/^#include "\w+\.h"/)
  puts code.scan(/^((?!static)[a-z][\w *]*\btseg_\w+\([^;{]*?\))\s*\{/).map { |(declaration)| "#{declaration};" }
end
