# frozen_string_literal: true

require "digest"

module Tiercel
  module Backends
    class Redis < Backend
      # Conditional writes: tokens, and the commands for leases.
      #
      # A token consists of the expiry in ms (nil for any) and the bytes. Redis has no entry versions, and equal bytes
      # may have been changed and changed back. But Redis stores each entry's expiry in ms. An entry without a TTL
      # therefore gets an expiry at least 70,000 years away, with 51 random bits (adr/006).
      #
      # @private
      module Claims
        # Up to this size the expected bytes are sent themselves, which costs less than a digest.
        SHORT_BYTES = 256
        # The lowest TTL that means "never expires". A random number below it is added, so the sum stays under 2**53,
        # the limit of Lua's exact integers.
        ENDLESS_MS = 2**51
        ENDLESS_ARGUMENT = ENDLESS_MS.to_s.freeze
        private_constant :SHORT_BYTES

        # Equal bytes count as the same entry, even if the entry changed and changed back in between.
        def token_shown(bytes, _last_read, _index = 0) = [nil, bytes]

        def get_with_token(key)
          ends_at, bytes = shown(key, ["PEXPIRETIME", key], ["GET", key])
          [binary(bytes), [ends_at, bytes]] if bytes
        end

        def look(key)
          ends_at, bytes, left = shown(key, ["PEXPIRETIME", key], ["GET", key], ["PTTL", key])
          [binary(bytes), [ends_at, bytes], seconds(left)] if bytes
        end

        # The written bytes are their own token, because no other caller writes the same bytes (see {Backend#occupy}).
        def occupy(key, bytes, ttl = nil, token = nil)
          if token
            reply = guarded(key) do
              Script::REPLACE_OR_GET.for(@commands).call(@commands, *replacing(key, bytes, token, ttl))
            end
            return occupied(reply, bytes, ttl)
          end
          present, left = guarded(key) do
            commands = set_or_get(key, bytes, ttl, abilities.ends?) << ["PTTL", key]
            *replies, left = @commands.pipelined(commands, key: key)
            [present_in(replies), left]
          end
          present = replace_other_type(key, bytes, ttl) if wrong_type?(present)
          raise translate(present, key) if present.is_a?(Exception)
          occupied(present.is_a?(String) ? [present, left] : present, bytes, ttl)
        end

        def occupies_at_once? = true

        def occupy_multi(pairs, ttl = nil, tokens = {})
          return {} if pairs.empty?
          replies = guarded { claim_all(pairs, ttl, tokens) }
          pairs.each_with_index do |(key, bytes), index|
            next unless wrong_type?(replies[index])
            replies[index] = replace_other_type(key, bytes, ttl)
          end
          failure = failed(replies)
          found = pairs.zip(replies).to_h { |(key, bytes), reply| [key, occupied(reply, bytes, nil)] }.compact
          raise found.empty? ? failure : failure.with_partial(found) if failure
          found
        end

        def compare_and_set_multi(changes, ttl = nil)
          return [] if changes.empty?
          milliseconds = ms(ttl)
          replies = guarded do
            Script::COMPARE_AND_SET.for(@commands).call_many(@commands, changes.map do |key, (bytes, token)|
              [key, *expected(token), bytes, milliseconds]
            end)
          end
          written = changes.keys.select.with_index { |_, index| replies[index] == 1 }
          failure = failed(replies) or return written
          raise written.empty? ? failure : failure.with_partial(written)
        end

        def compare_and_set(key, bytes, token, ttl = nil)
          guarded(key) do
            script = Script::COMPARE_AND_SET.for(@commands)
            script.call(@commands, key, *expected(token), bytes, ms(ttl)) == 1
          end
        end

        # Without scripts, reading and deleting are two steps.
        def delete_frames(keys)
          return {} if keys.empty?
          return super unless compares?
          replies = guarded do
            Script::DELETE_FRAME.call_many(@commands, keys.map { |key| [key, *Script::OF_FRAMES] })
          end
          keys.zip(replies).filter_map { |key, reply| [key, translate(reply, key)] if reply.is_a?(Exception) }.to_h
        rescue BackendError => error
          keys.to_h { |key| [key, error] }
        end

        # Compare-and-set needs scripts.
        def compares?(ask: true) = ask || abilities.known? ? guarded { abilities.scripts? } : nil

        private

        def delete_frame(key)
          bytes = get(key)
          delete(key) if bytes.nil? || Frame.replaceable?(bytes)
        end

        def abilities = @commands.abilities

        # Reads the expiry first. If the entry changes between the two commands, they do not match, and
        # {#compare_and_set} detects that.
        #
        # @return [Array(Integer, String, Integer), nil] the expiry in ms, the bytes, the remaining ms
        def shown(key, *commands)
          ends_at, bytes, left = guarded(key) do
            next @commands.pipelined(commands) if abilities.ends? || !abilities.scripts?
            Script::LOOK.for(@commands).call(@commands, key)
          end
          raise translate(bytes, key) if bytes.is_a?(Exception)
          [ends_at.is_a?(Integer) ? ends_at : nil, bytes, left]
        end

        # @return [Array(String, String)] arguments for {Script::COMPARE_AND_SET}
        def expected((ends_at, present))
          return ["=", present] if ends_at.nil? && present.bytesize <= SHORT_BYTES
          [ends_at.to_s, Digest::SHA1.hexdigest(present)]
        end

        # @return [Array<Object>] replies for {#occupied}, one for each pair
        def claim_all(pairs, ttl, tokens)
          at_once = abilities.ends?
          replace = Script::REPLACE_OR_GET.for(@commands)
          calls = pairs.map { |key, bytes| tokens[key] && replacing(key, bytes, tokens[key], ttl) }
          steps = pairs.zip(calls).map do |(key, bytes), call|
            call ? [replace.command(*call)] : set_or_get(key, bytes, ttl, at_once)
          end
          replies = @commands.pipelined(steps.flatten(1))
          of_each = steps.map { |commands| replies.shift(commands.size) }
          replies = of_each.zip(calls).map { |of_one, call| call ? of_one.first : present_in(of_one) }
          replace.sent_again(@commands, replies, calls)
        end

        # @param ttl [Numeric, nil] seconds
        # @return [String] milliseconds, rounded up
        def ms(ttl) = (ttl ? [ttl * 1000, ENDLESS_MS - 1].min.ceil : ENDLESS_MS + Random.rand(ENDLESS_MS)).to_s

        # @param at_once [Boolean] whether SET accepts both NX and GET: from Redis 7 on
        # @return [Array<Array<String>>] the commands that set a key if it is absent, or read it
        def set_or_get(key, bytes, ttl, at_once)
          return [["SET", key, bytes, "NX", "GET", "PX", ms(ttl)]] if at_once
          [["SET", key, bytes, "NX", "PX", ms(ttl)], ["GET", key]]
        end

        # @param replies [Array<Object>] one for each command of {#set_or_get}
        # @return [String, nil, Exception, 0] the existing entry; nil if the key was set; 0 if the entry vanished in
        #   between
        def present_in(replies)
          set, present = replies
          return set if replies.size == 1 || set.is_a?(Exception)
          present || 0 unless set
        end

        # A key of a type other than String is replaced, as by a plain write.
        #
        # @return [nil] like SET with GET for an absent key
        def replace_other_type(key, bytes, ttl)
          set(key, bytes, ttl)
          nil
        end

        # @return [Array<String>] key and arguments for {Script::REPLACE_OR_GET}
        def replacing(key, bytes, (ends_at, present), ttl)
          [key, ends_at.to_s, Digest::SHA1.hexdigest(present), bytes, ms(ttl)]
        end

        # @param reply [Object] nil or 1: the bytes were written; bytes, or bytes and ms: the existing entry; 0: the
        #   existing entry vanished
        # @return [Array(String, Object, Float), nil] as {Backend#occupy}
        def occupied(reply, bytes, ttl)
          case reply
          when nil, 1 then [bytes, [nil, bytes], ttl]
          when String then [binary(reply), [nil, reply], nil]
          when Array then [expect(String, binary(reply.first)), [nil, reply.first], seconds(reply.last)]
          when 0, Exception then nil
          else expect(String, reply)
          end
        end

        # The mark of an endless entry is not a remaining TTL.
        def seconds(ms) = ms.is_a?(Integer) && ms.between?(0, ENDLESS_MS - 1) ? ms / 1000.0 : nil
      end
    end
  end
end
