# frozen_string_literal: true

require_relative "support/strict_warnings"

# A shell that runs this in the background ignores SIGINT, and child processes inherit that. Tests of Ctrl-C could not
# interrupt their children.
Signal.trap("INT", "DEFAULT")

require "minitest/autorun"
require "tiercel"
require "active_support"
require "active_support/error_reporter"

require_relative "support/assertions_required"
require_relative "support/available"
require_relative "support/test_case"

# The tests that every backend, serializer and compressor must pass.
module Tiercel::Contracts
  autoload :BackendContract, "contracts/backend_contract"
  autoload :CompressorContract, "contracts/compressor_contract"
  autoload :SerializerContract, "contracts/serializer_contract"
end
