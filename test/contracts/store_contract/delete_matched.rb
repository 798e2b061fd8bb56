# frozen_string_literal: true

module Tiercel
  module Contracts
    module StoreContract
      # delete_matched with a Regexp, or with a glob as in Redis.
      module DeleteMatched
        NAMES = %w[foo fu foo/bar fu/baz].freeze

        def test_by_a_regexp
          fill(store)
          assert_equal 2, store.delete_matched(/oo/)
          assert_equal %w[fu fu/baz], store.read_multi(*NAMES).keys
        end

        def test_by_a_glob
          fill(store)
          assert_equal 1, store.delete_matched("f?o")
          assert_equal %w[fu foo/bar fu/baz], store.read_multi(*NAMES).keys
          assert_equal 2, store.delete_matched("fu*")
          assert_equal %w[foo/bar], store.read_multi(*NAMES).keys
          assert_equal 0, store.delete_matched("nothing*")
        end

        def test_only_within_the_namespace
          one = new_store(namespace: "one")
          fill(one)
          NAMES.each { |name| one.write(name, name, namespace: "two") }
          assert_equal 2, one.delete_matched(/^foo/)
          assert_equal 2, one.delete_matched("fu*")
          assert_empty one.read_multi(*NAMES)
          assert_equal 4, one.read_multi(*NAMES, namespace: "two").size
          assert_equal 4, one.delete_matched(/f/, namespace: "two")
        end

        def test_a_namespace_with_the_characters_of_a_glob
          odd = new_store(namespace: "a*[b]?")
          fill(odd)
          odd.write("foo", 1, namespace: "axx[b]y")
          assert_equal 2, odd.delete_matched("foo*")
          assert_equal 1, odd.read("foo", namespace: "axx[b]y")
        end

        def test_many_keys
          store.write_multi((0...2_500).to_h { |number| ["many#{number}", 1] })
          store.write("other", 1)
          assert_equal 2_500, store.delete_matched("many*")
          assert_equal 1, store.read("other")
        end

        def test_the_event_of_delete_matched
          seen = events { store.delete_matched("nothing*") }
          assert_equal [["delete_matched", "nothing*"]], seen.map { |event| [event.name, event[:key]] }
        end

        private

        def fill(filled) = NAMES.each { |name| filled.write(name, name) }
      end
    end
  end
end
