# frozen_string_literal: true

module Tiercel
  module Contracts
    module BackendContract
      # The tokens of what a read has shown, and the takes of leases that use them.
      module Leasing
        def test_occupy_multi_takes_what_is_absent_and_what_is_unchanged
          backend.set("present", "old")
          backend.set("known", "old")
          backend.set("changed", "old")
          tokens = %w[known changed gone].to_h { |key| [key, token_of("old", key)] }
          backend.set("changed", "new")
          found = backend.occupy_multi(%w[absent present known changed gone].to_h { |key| [key, "mine"] }, 60, tokens)
          assert_equal({ "absent" => "mine".b, "present" => "old".b, "known" => "mine".b, "changed" => "new".b },
                       found.transform_values(&:first))
          assert_nil backend.get("gone")
          written = %w[absent known]
          changes = written.to_h { |key| [key, ["filled", found[key][1]]] }
          assert_equal written, backend.compare_and_set_multi(changes, 60).sort
        end

        # A backend need not know it.
        def test_the_token_of_the_last_read_is_of_what_it_has_shown
          backend.set("key", "one")
          backend.set("other", "two")
          bytes = backend.get("key")
          Fiber.new { backend.get("other") }.resume
          last_read = backend.last_read
          backend.get("other")
          token = backend.token_shown(bytes, last_read) or return assert_nil(token)
          assert_equal "mine".b, backend.occupy("key", "mine", 60, token).first
          token = backend.token_shown(backend.get("key"), backend.last_read)
          backend.set("key", "changed")
          assert_equal "changed".b, backend.occupy("key", "mine", 60, token).first
        end

        def test_the_tokens_of_the_last_read_of_several
          keys = Array.new(40) { |number| "key#{number}" }
          keys.each_with_index { |key, number| backend.set(key, "old#{number}") unless (number % 4).zero? }
          shown = backend.get_multi(keys)
          last_read = backend.last_read
          tokens = keys.each_with_index.to_h do |key, index|
            [key, shown[key] && backend.token_shown(shown[key], last_read, index)]
          end
          return assert_empty(tokens.compact) if tokens.compact.empty?
          backend.set("key1", "changed")
          found = backend.occupy_multi(keys.to_h { |key| [key, "mine"] }, 60, tokens)
          assert_equal keys.to_h { |key| [key, key == "key1" ? "changed" : "mine"] }, found.transform_values(&:first)
        end

        def test_a_read_that_was_forgotten_gives_no_token_of_another_one
          backend.set("key", "one")
          backend.get("key")
          backend.forget_last_read
          token = backend.token_shown("another", backend.last_read) or return assert_nil(token)
          assert_equal "one".b, backend.occupy("key", "mine", 60, token).first
        end

        private

        def token_of(bytes, key)
          backend.set(key, bytes)
          token = backend.get_with_token(key).last
          backend.delete(key) if key == "gone"
          token
        end
      end
    end
  end
end
