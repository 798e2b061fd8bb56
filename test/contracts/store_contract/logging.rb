# frozen_string_literal: true

module Tiercel
  module Contracts
    module StoreContract
      # At the level debug, each call logs one line.
      module Logging
        def test_calls_with_one_name
          { "read" => -> { store.read("a") }, "write" => -> { store.write("a", 1) },
            "exist?" => -> { store.exist?("a") },
            "delete" => -> { store.delete("a") }, "increment" => -> { store.increment("b") } }.each do |operation, call|
            assert_includes log_of(&call), "Cache #{operation}: #{key_of(operation == "increment" ? "b" : "a")}"
          end
        end

        def test_a_fetch_says_what_it_does
          missed = log_of { store.fetch("a") { 1 } }
          hit = log_of { store.fetch("a") { 1 } }
          assert_equal %w[read generate write], missed.scan(/Cache (\w+): \S*a\b/).flatten
          assert_equal %w[read fetch_hit], hit.scan(/Cache (\w+): \S*a\b/).flatten
        end

        def test_calls_with_several_names
          log = log_of do
            store.write_multi({ "a" => 1, "b" => 2 })
            store.read_multi("a", "b", "c")
            store.delete_multi(%w[a b])
          end
          assert_match(/Cache write_multi: 2 key\(s\)/, log)
          assert_match(/Cache read_multi: 3 key\(s\)/, log)
          assert_match(/Cache delete_multi: 2 key\(s\)/, log)
        end

        def test_the_options_are_in_the_line
          assert_match(/Cache read: other:a \(.*namespace.*other.*\)/, log_of { store.read("a", namespace: "other") })
          assert_match(/Cache read: called:a/, log_of { store.read("a", namespace: -> { "called" }) })
        end

        def test_nothing_is_logged_above_debug
          assert_empty(log_of(level: ::Logger::INFO) { store.write("a", 1); store.read("a"); store.fetch("b") { 1 } })
        end
      end
    end
  end
end
