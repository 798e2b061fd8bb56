# frozen_string_literal: true

module Tiercel
  module Contracts
    module StoreContract
      # Invalid options raise while the store is built.
      module OptionErrors
        def test_an_unknown_option
          error = assert_raises(ArgumentError) { build_store(no_such_option: 1) }
          assert_match(/no_such_option/, error.message)
          assert_match(/expires_in/, error.message, "it names the known ones")
        end

        def test_a_coder_and_a_serializer
          assert_raises(ArgumentError) { build_store(coder: Marshal, serializer: Marshal) }
          error = assert_raises(ArgumentError) { build_store(coder: Marshal, serializer: :marshal) }
          assert_match(/serializer.*coder/, error.message)
        end

        def test_a_coder_and_a_compressor
          in_format(7.1) do
            error = assert_raises(ArgumentError) { build_store(coder: Marshal, compressor: Zlib) }
            assert_match(/compressor.*coder/, error.message)
          end
        end

        def test_names_that_nobody_registered
          error = assert_raises(ArgumentError) { build_store(serializer: :no_such) }
          assert_match(/no_such.*auto.*marshal/, error.message)
          error = assert_raises(ArgumentError) { build_store(compressor: :no_such) }
          assert_match(/no_such.*zlib/, error.message)
        end

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
