# frozen_string_literal: true

require "digest"
require "redis-client"

require_relative "../../backend"
require_relative "failures"
require_relative "lifetime"
require_relative "scripts"

module Tiercel
  module Backends
    class Redis < Backend
      # Conditional writes: tokens, and the commands for leases. A token consists of the expiry in ms (nil for any)
      # and the bytes.
      #
      # @private
      module Claims
        # Up to this size the expected bytes are sent themselves, which costs less than a digest.
        SHORT_BYTES = 256
        private_constant :SHORT_BYTES

        # Equal bytes count as the same entry, whatever happened in between.
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
            set_or_get = abilities.set_or_get
            *replies, left = @commands.pipelined(set_or_get.commands(key, bytes, Lifetime.ms(ttl)) << ["PTTL", key])
            [set_or_get.reply(replies), left]
          end
          present = replace_other_type(key, bytes, ttl) if present.is_a?(RedisClient::WrongTypeError)
          raise translate(present, key) if present.is_a?(Exception)
          occupied(present.is_a?(String) ? [present, left] : present, bytes, ttl)
        end

        def occupy_multi(pairs, ttl = nil, tokens = {})
          return {} if pairs.empty?
          replies = guarded { claim_all(pairs, ttl, tokens) }
          pairs.each_with_index do |(key, bytes), index|
            next unless replies[index].is_a?(RedisClient::WrongTypeError)
            replies[index] = replace_other_type(key, bytes, ttl)
          end
          failure = failed(replies)
          found = pairs.zip(replies).to_h { |(key, bytes), reply| [key, occupied(reply, bytes, nil)] }.compact
          raise found.empty? ? failure : failure.with_partial(found) if failure
          found
        end

        def compare_and_set_multi(changes, ttl = nil)
          return [] if changes.empty?
          ms = Lifetime.ms(ttl)
          replies = guarded do
            Script::COMPARE_AND_SET.for(@commands).call_many(@commands, changes.map do |key, (bytes, token)|
              [key, *expected(token), bytes, ms]
            end)
          end
          written = changes.keys.select.with_index { |_, index| replies[index] == 1 }
          failure = failed(replies) or return written
          raise written.empty? ? failure : failure.with_partial(written)
        end

        def get_or_occupy(key, bytes, ttl = nil)
          return super unless occupies_at_once?
          claim = ["SET", key, bytes, "NX", "PX", Lifetime.ms(ttl)]
          present, written = guarded(key) { @commands.call_either(["GET", key], claim) }
          return [binary(present), [nil, present], nil] if present
          return if written.is_a?(RedisClient::Error)
          written ? [bytes, [nil, bytes], ttl] : look(key)
        end

        def compare_and_set(key, bytes, token, ttl = nil)
          guarded(key) do
            script = Script::COMPARE_AND_SET.for(@commands)
            script.call(@commands, key, *expected(token), bytes, Lifetime.ms(ttl)) == 1
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
          set_or_get = abilities.set_or_get
          replace = Script::REPLACE_OR_GET.for(@commands)
          calls = pairs.map { |key, bytes| tokens[key] && replacing(key, bytes, tokens[key], ttl) }
          steps = pairs.zip(calls).map do |(key, bytes), call|
            call ? [replace.command(*call)] : set_or_get.commands(key, bytes, Lifetime.ms(ttl))
          end
          replies = @commands.pipelined(steps.flatten(1))
          of_each = steps.map { |commands| replies.shift(commands.size) }
          replies = of_each.zip(calls).map { |(reply, *rest), call| call ? reply : set_or_get.reply([reply, *rest]) }
          replace.sent_again(@commands, replies, calls)
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
          [key, ends_at.to_s, Digest::SHA1.hexdigest(present), bytes, Lifetime.ms(ttl)]
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

        # The mark of an endless entry (see {Lifetime}) is not a remaining TTL.
        def seconds(ms) = ms.is_a?(Integer) && ms.between?(0, Lifetime::ENDLESS_MS - 1) ? ms / 1000.0 : nil
      end
    end
  end
end
