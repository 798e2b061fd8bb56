# frozen_string_literal: true

module Tiercel
  module Contracts
    module StoreContract
      # Invalid options raise while the store is built.
      module OptionErrors
        def test_an_error_handler_has_to_be_callable
          error = assert_raises(ArgumentError) { build_store(error_handler: :no) }
          assert_match(/error_handler.*:no/, error.message)
        end

        def test_options_of_a_call_that_nobody_knows_are_let_through
          assert_equal true, store.write("a", 1, unknown: 1)
          assert_equal 1, store.read("a", unknown: 1)
          assert_equal({ "a" => 1 }, store.read_multi("a", unknown: 1))
        end
      end
    end
  end
end
