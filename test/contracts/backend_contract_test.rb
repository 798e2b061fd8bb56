# frozen_string_literal: true
# quick

require "test_helper"
require "support/ruby_memory"

# The contract over the simplest backend, which has the default forms of every method: claims, leases, tags.
class BackendContractTest < Tiercel::TestCase
  include Tiercel::Contracts::BackendContract

  def build_backend = RubyMemory.new
end
