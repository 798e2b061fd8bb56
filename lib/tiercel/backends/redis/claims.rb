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
      # What depends on what is there: tokens, and what leases are taken and filled with. A token is the end in ms (nil
      # for any) and the bytes.
      #
      # @private
      module Claims
        # Bytes up to which what is expected under a key is sent as it is, which costs less than its digest.
        SHORT_BYTES = 256
        private_constant :SHORT_BYTES

        # What is still the same is what was shown, whatever happened in between.
        def token_shown(bytes, _last_read, _index = 0) = [nil, bytes]

        # The end is asked for first: where the entry changes between the two, they do not belong together,
        # and {#compare_and_set} finds that out.
        def get_with_token(key)
          ends_at, bytes = guarded(key) { @commands.pipelined([["PEXPIRETIME", key], ["GET", key]]) }
          raise Failures.translate(bytes, @name, key) if bytes.is_a?(Exception)
          ends_at = nil if ends_at.is_a?(Exception)
          [binary(bytes), [ends_at, bytes]] if bytes
        end

        def look(key)
          ends_at, bytes, left = guarded(key) do
            @commands.pipelined([["PEXPIRETIME", key], ["GET", key], ["PTTL", key]])
          end
          raise Failures.translate(bytes, @name, key) if bytes.is_a?(Exception)
          [binary(bytes), [ends_at.is_a?(Integer) ? ends_at : nil, bytes], seconds(left)] if bytes
        end

        # What was written is its own token: see {Backend#occupy} on bytes that no other caller writes.
        def occupy(key, bytes, ttl = nil, token = nil)
          if token
            reply = guarded(key) { Script::REPLACE_OR_GET.call(@commands, *replacing(key, bytes, token, ttl)) }
            return occupied(reply, bytes, ttl)
          end
          present, left = guarded(key) { @commands.pipelined([set_or_get(key, bytes, ttl), ["PTTL", key]]) }
          present = replace_other_type(key, bytes, ttl) if present.is_a?(RedisClient::WrongTypeError)
          raise Failures.translate(present, @name, key) if present.is_a?(Exception)
          occupied(present && [present, left], bytes, ttl)
        end

        def occupy_multi(pairs, ttl = nil, tokens = {})
          return {} if pairs.empty?
          calls = pairs.map { |key, bytes| tokens[key] && replacing(key, bytes, tokens[key], ttl) }
          commands = pairs.zip(calls).map do |(key, bytes), call|
            call ? Script::REPLACE_OR_GET.command(*call) : set_or_get(key, bytes, ttl)
          end
          replies = guarded { Script::REPLACE_OR_GET.sent_again(@commands, @commands.pipelined(commands), calls) }
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
            Script::COMPARE_AND_SET.call_many(@commands, changes.map do |key, (bytes, token)|
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
          guarded(key) { Script::COMPARE_AND_SET.call(@commands, key, *expected(token), bytes, Lifetime.ms(ttl)) == 1 }
        end

        private

        # @return [Array(String, String)] arguments of {Script::COMPARE_AND_SET}
        def expected((ends_at, present))
          return ["=", present] if ends_at.nil? && present.bytesize <= SHORT_BYTES
          [ends_at.to_s, Digest::SHA1.hexdigest(present)]
        end

        def set_or_get(key, bytes, ttl) = ["SET", key, bytes, "NX", "GET", "PX", Lifetime.ms(ttl)]

        # A key of another type than String is in nobody's way: as with a plain write.
        #
        # @return [nil] as SET with GET where nothing was there
        def replace_other_type(key, bytes, ttl)
          set(key, bytes, ttl)
          nil
        end

        # @return [Array<String>] key and arguments of {Script::REPLACE_OR_GET}
        def replacing(key, bytes, (ends_at, present), ttl)
          [key, ends_at.to_s, Digest::SHA1.hexdigest(present), bytes, Lifetime.ms(ttl)]
        end

        # @param reply [Object] nil or 1: they were written; bytes, or bytes and ms, of what is in the way; 0: that has
        #   gone
        # @return [Array(String, Object, Float), nil] as {Backend#occupy}
        def occupied(reply, bytes, ttl)
          case reply
          when nil, 1 then [bytes, [nil, bytes], ttl]
          when String then [binary(reply), [nil, reply], nil]
          when Array then [binary(reply.first), [nil, reply.first], seconds(reply.last)]
          end
        end

        # A mark of no end (see {Lifetime}) is no rest.
        def seconds(ms) = ms.is_a?(Integer) && ms.between?(0, Lifetime::ENDLESS_MS - 1) ? ms / 1000.0 : nil
      end
    end
  end
end
