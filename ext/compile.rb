# frozen_string_literal: true

# Compiles the C extensions for the present Ruby into lib/tiercel. Needed for a gem with `path:`: Bundler builds the
# extensions of gems from a registry and with `git:` alone.
#
#   ruby PATH_OF_TIERCEL/ext/compile.rb

require_relative "compilation"

Compilation.to(File.expand_path("../lib/tiercel", __dir__))
