# frozen_string_literal: true

module Tiercel
  module Contracts
    module BackendContract
      # Tests of tags over the backend. A tag's generation is 8 random bytes under its own key. An entry records the
      # generation under which it was computed. A read compares both, and an invalidation deletes the generation.
      module Tagging
        # Generations can be any 8 bytes; some of these look like counters.
        GENERATIONS = ["\0".b * 8, "\xFF".b * 8, "12345678".b, "-0000042".b, "        ".b, "\r\nEND\r\n\0".b].freeze
        TAG = "tiercel:tag:products"

        def test_a_generation_comes_back_as_it_was_begun
          begun = GENERATIONS.each_with_index.to_h { |bytes, index| ["#{TAG}/#{index}", bytes] }
          assert_equal begun, backend.compare_exchange_multi(begun).transform_values(&:first)
          assert_equal begun, backend.get_multi(begun.keys)
          others = begun.transform_values { "\1".b * 8 }
          assert_equal begun, backend.compare_exchange_multi(others).transform_values(&:first)
        end

        def test_an_entry_and_its_generations_are_one_read
          backend.set("entry", "bytes")
          backend.compare_exchange_multi({ "#{TAG}/1" => GENERATIONS[2], "#{TAG}/2" => GENERATIONS[0] })
          asked = ["#{TAG}/1", "entry", "#{TAG}/none", "#{TAG}/2"]
          found = backend.get_multi(asked)
          assert_equal ["#{TAG}/1", "entry", "#{TAG}/2"], found.keys
          assert_equal [GENERATIONS[2], "bytes".b, GENERATIONS[0]], found.values
        end

        def test_an_invalidated_generation_is_gone_and_the_next_one_is_another
          3.times do |index|
            begun = ["gen #{index}   "[0, 8].b, "gen/#{index}   "[0, 8].b]
            keys = ["#{TAG}/1", "#{TAG}/2"]
            assert_equal begun, backend.compare_exchange_multi(keys.zip(begun).to_h).values_at(*keys).map(&:first)
            assert_equal 2, backend.delete_multi([keys[0], "#{TAG}/none", keys[1]])
            assert_equal({}, backend.get_multi(keys))
          end
        end

        def test_an_invalidation_by_another_process_is_seen_at_once
          needs_processes
          5.times do |index|
            begun = [index].pack("Q")
            backend.compare_exchange_multi({ TAG => begun })
            2.times { assert_equal({ TAG => begun }, backend.get_multi([TAG])) }
            in_processes(1) { |peer, _| peer.delete_multi([TAG]) && nil }
            assert_equal [{}, nil], [backend.get_multi(["entry", TAG]), backend.get(TAG)]
          end
        end
      end
    end
  end
end
