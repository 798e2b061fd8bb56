# frozen_string_literal: true
# quick

require "test_helper"
require "support/ruby_memory"
require "contracts/backend_contract"

# Verifies that the published contract detects backends unfit for leases and tags: each test plants one fault in a
# passing backend, and the named tests must fail.
class BackendContractFaultsTest < Tiercel::TestCase
  # A backend of one process, that passes.
  class Sound < RubyMemory
  end

  FAULTS = {
    "compare_and_set writes whatever is there" => [
      Class.new(Sound) { def compare_and_set(key, bytes, _token, ttl = nil) = set(key, bytes, ttl) },
      %w[test_a_fill_loses_against_every_other_change test_compare_and_set]
    ],
    "tokens are of the bytes" => [
      Class.new(Sound) do
        def get_with_token(key) = super&.then { |bytes, _| [bytes, bytes.hash] }

        def compare_and_set(key, bytes, token, ttl = nil)
          found, = get_with_token(key)
          found && found.hash == token ? set(key, bytes, ttl) : false
        end
      end,
      %w[test_a_token_does_not_survive_a_delete_and_the_same_bytes_again]
    ],
    "delete_multi leaves the last key" => [
      Class.new(Sound) { def delete_multi(keys) = keys[0...-1].count { |key| delete(key) } },
      %w[test_an_invalidated_generation_is_gone_and_the_next_one_is_another]
    ],
    "add overwrites" => [
      Class.new(Sound) { def add(key, bytes, ttl = nil) = set(key, bytes, ttl) },
      %w[test_one_caller_has_the_lease test_a_generation_comes_back_as_it_was_begun]
    ],
    "a clear leaves what is young" => [
      Class.new(Sound) { def clear(_prefix = nil) = nil },
      %w[test_a_fill_loses_against_every_other_change]
    ],
    "digits are stored as a number" => [
      Class.new(Sound) do
        def get_multi(keys) = super.transform_values { |bytes| Integer(bytes, 10, exception: false)&.to_s || bytes }
      end,
      %w[test_a_generation_comes_back_as_it_was_begun]
    ],
    "get_multi forgets the order" => [
      Class.new(Sound) { def get_multi(keys) = super(keys.sort) },
      %w[test_an_entry_and_its_generations_are_one_read]
    ],
    "an invalidation comes late" => [
      Class.new(Sound) do
        def delete_multi(keys)
          Thread.new { sleep 0.002 && super }.join(0)
          keys.size
        end
      end,
      %w[test_an_invalidated_generation_is_gone_and_the_next_one_is_another]
    ],
  }.freeze

  def test_a_sound_backend_passes
    tests = FAULTS.values.flat_map(&:last).uniq
    assert_empty(tests.reject { |name| run_contract(Sound, name).passed? })
  end

  FAULTS.each do |fault, (backend, tests)|
    define_method("test_it_finds_that_#{fault.tr(" ", "_")}") do
      tests.each { |name| refute_predicate run_contract(backend, name), :passed?, name }
    end
  end

  private

  # @return [Minitest::Result]
  def run_contract(backend, test)
    contract = Class.new(Minitest::Test) do
      def self.runnable_methods = []
      include Tiercel::Contracts::BackendContract
      define_method(:build_backend) { backend.new }
    end
    Minitest::Runnable.runnables.delete(contract)
    contract.new(test).run
  end
end
