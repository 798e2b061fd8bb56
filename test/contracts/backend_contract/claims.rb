# frozen_string_literal: true

module Tiercel
  module Contracts
    module BackendContract
      # Tests of compare_exchange, look and compare_and_set_multi, which leases use, and of the token of the last read.
      module Claims
        # A TTL in seconds that outlives every test.
        CLAIM_TTL = 600

        def test_compare_exchange_writes_where_nothing_is
          bytes, token, left = backend.compare_exchange("key", "mine", CLAIM_TTL)
          assert_equal "mine".b, bytes
          assert_left CLAIM_TTL, left
          assert_equal "mine".b, backend.get("key")
          assert_equal true, backend.compare_and_set("key", "value", token)
          assert_equal false, backend.compare_and_set("key", "again", token)
          assert_equal "value".b, backend.get("key")
        end

        def test_compare_exchange_shows_what_is_in_the_way
          ["theirs", "", "12", "\0\xFF".b, "long" * 50_000].each do |there|
            backend.set("key", there, CLAIM_TTL / 2)
            bytes, token, left = backend.compare_exchange("key", "mine", CLAIM_TTL)
            assert_equal there.b, bytes
            assert_equal Encoding::BINARY, bytes.encoding
            assert_left CLAIM_TTL / 2, left
            assert_equal there.b, backend.get("key")
            assert_equal true, backend.compare_and_set("key", "value", token)
          end
        end

        def test_compare_exchange_replaces_the_entry_of_its_token
          _, token = backend.compare_exchange("key", "first", CLAIM_TTL)
          bytes, second = backend.compare_exchange("key", "second", CLAIM_TTL, token)
          assert_equal "second".b, bytes
          bytes, = backend.compare_exchange("key", "third", CLAIM_TTL, token)
          assert_equal "second".b, bytes, "its token is of what was there before"
          assert_equal true, backend.compare_and_set("key", "value", second)
        end

        def test_compare_exchange_with_a_token_never_brings_back_what_was_deleted
          _, token = backend.compare_exchange("key", "first", CLAIM_TTL)
          backend.delete("key")
          assert_nil backend.compare_exchange("key", "second", CLAIM_TTL, token)
          assert_nil backend.get("key")
        end

        def test_delete_frames_deletes_frames_and_nothing_else
          layout = Frame::Layout
          parts = Frame::Parts.encode(version: "1" * 300)
          frame = Frame.build(layout::TYPE_STRING_UTF_8, "long" * 10, parts:)
          exclusive = Frame.copy(frame, { exclusive: true })
          kept = { "exclusive" => exclusive, "counter" => "12", "raw" => "bytes", "short" => "\xF5".b, "empty" => "" }
          backend.set_multi({ "frame" => frame, "plain" => Frame::EXPIRED, **kept })
          assert_equal({}, backend.delete_frames(["frame", "plain", "nothing", *kept.keys]))
          assert_equal kept.transform_values(&:b), backend.get_multi(kept.keys)
          refute_equal frame, backend.get("frame")
          assert_includes [nil, Frame::EXPIRED], backend.get("frame")
          assert_equal({}, backend.delete_frames([]))
        end

        # The expiry tests wait for a remote server's clock; memcached counts whole seconds.
        def test_what_was_exchanged_expires
          backend.compare_exchange("key", "mine", 60)
          return assert_includes(0..61, backend.look("key").last) if backend.remote?
          later(61) do
            assert_nil backend.look("key")
            assert_equal "next".b, backend.compare_exchange("key", "next", CLAIM_TTL).first
          end
        end

        def test_look
          assert_nil backend.look("key")
          backend.set("key", "value", CLAIM_TTL)
          bytes, token, left = backend.look("key")
          assert_equal "value".b, bytes
          assert_left CLAIM_TTL, left
          assert_equal true, backend.compare_and_set("key", "other", token)
          backend.set("endless", "value")
          assert_equal "value".b, backend.look("endless").first
          assert_nil backend.look("endless").last
        end

        def test_compare_exchange_multi_writes_what_is_absent_and_what_is_unchanged
          %w[present known changed gone].each { |key| backend.set(key, "old", CLAIM_TTL) }
          tokens = %w[known changed gone].to_h { |key| [key, backend.get_with_token(key).last] }
          backend.set("changed", "new", CLAIM_TTL)
          backend.delete("gone")
          mine = %w[absent present known changed gone].to_h { |key| [key, "mine"] }
          found = backend.compare_exchange_multi(mine, CLAIM_TTL, tokens)
          assert_equal({ "absent" => "mine".b, "present" => "old".b, "known" => "mine".b, "changed" => "new".b },
                       found.transform_values(&:first))
          assert_nil backend.get("gone")
          found.each do |key, (_, token, left)|
            assert_left CLAIM_TTL, left
            assert_equal true, backend.compare_and_set(key, "value", token), key
          end
          assert_equal({}, backend.compare_exchange_multi({}, CLAIM_TTL))
        end

        def test_compare_and_set_multi
          taken = backend.compare_exchange_multi({ "a" => "1", "b" => "2", "c" => "3", "d" => "4" }, CLAIM_TTL)
          backend.set("b", "changed")
          backend.delete("c")
          changes = taken.to_h { |key, (_, token)| [key, ["value of #{key}", token]] }
          assert_equal %w[a d], backend.compare_and_set_multi(changes, CLAIM_TTL).sort
          assert_equal({ "a" => "value of a", "b" => "changed", "d" => "value of d" }, backend.get_multi(%w[a b c d]))
          assert_equal [], backend.compare_and_set_multi(changes, CLAIM_TTL)
          assert_equal [], backend.compare_and_set_multi({}, CLAIM_TTL)
        end

        def test_one_process_writes_and_all_see_which
          needs_processes
          backend.set("warm", "up")
          rounds = in_rounds(10) do |peer, index, round|
            names = index.odd? ? %W[a#{round} b#{round}] : %W[b#{round} a#{round}]
            mine = names.to_h { |key| [key, "holder #{index}"] }
            peer.compare_exchange_multi(mine, CLAIM_TTL).transform_values(&:first)
          end
          rounds.each_with_index do |answers, round|
            assert_equal [2], answers.map(&:size).uniq
            %W[a#{round} b#{round}].each do |key|
              assert_equal [backend.get(key)], answers.map { |answer| answer[key] }.uniq
            end
          end
        end

        def test_one_process_takes_a_place_over
          needs_processes
          backend.compare_exchange("key", "first", CLAIM_TTL)
          answers = in_processes do |peer, index|
            bytes, token = peer.get_with_token("key")
            bytes = peer.compare_exchange("key", "holder #{index}", CLAIM_TTL, token).first if bytes == "first"
            [index, bytes]
          end
          assert_equal [backend.get("key")], answers.map(&:last).uniq
          assert_equal(1, answers.count { |index, bytes| bytes == "holder #{index}" })
        end

        # A backend may return nil instead of a token.
        def test_the_token_of_bytes_that_a_read_has_returned
          backend.set("key", "one")
          token = backend.token_of(backend.get("key")) or return assert_nil(token)
          assert_equal "mine".b, backend.compare_exchange("key", "mine", CLAIM_TTL, token).first
          token = backend.token_of(backend.get("key"))
          backend.set("key", "changed")
          assert_equal "changed".b, backend.compare_exchange("key", "mine", CLAIM_TTL, token).first
        end

        def test_the_tokens_of_several
          keys = Array.new(40) { |number| "key#{number}" }
          present = keys.each_slice(4).flat_map { |_, *rest| rest }
          backend.set_multi(present.to_h { |key| [key, "old #{key}"] })
          found = backend.get_multi_with_tokens(keys)
          assert_equal present.to_h { |key| [key, "old #{key}".b] }, found.transform_values(&:first)
          backend.set("key1", "changed")
          tokens = found.transform_values(&:last)
          found = backend.compare_exchange_multi(keys.to_h { |key| [key, "mine"] }, CLAIM_TTL, tokens)
          assert_equal keys.to_h { |key| [key, key == "key1" ? "changed" : "mine"] }, found.transform_values(&:first)
          assert_equal({}, backend.get_multi_with_tokens([]))
        end

        private

        # A backend may return the remaining TTL or nil; a returned TTL must be accurate to a few seconds.
        def assert_left(ttl, left)
          assert_includes (ttl - 30)..(ttl + 1), left unless left.nil?
        end
      end
    end
  end
end
