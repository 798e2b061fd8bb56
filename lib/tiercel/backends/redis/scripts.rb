# frozen_string_literal: true

require "digest"

module Tiercel
  module Backends
    class Redis < Backend
      # A Lua script that runs in the server. Each script uses one key, so it works in a Redis Cluster too.
      class Script
        # Lua code for an entry's expiry, and a replacement without PEXPIRETIME: a script reads both clocks in the
        # same millisecond.
        ENDS = "redis.call('PEXPIRETIME', KEYS[1])"
        ENDS_BEFORE_7 = "ends_at()"
        BEFORE_7 = <<~LUA
          local function now()
            local time = redis.call('TIME')
            return time[1] * 1000 + math.floor(time[2] / 1000)
          end
          local function ends_at()
            while true do
              local before, left = now(), redis.call('PTTL', KEYS[1])
              if left < 0 then return left end
              if now() == before then return before + left end
            end
          end
        LUA
        private_constant :ENDS, :ENDS_BEFORE_7, :BEFORE_7

        # @param source [String] Lua code that uses KEYS[1]
        def initialize(source)
          @source = source.freeze
          @sha = Digest::SHA1.hexdigest(source).freeze
          @before_7 = Script.new(BEFORE_7 + source.gsub(ENDS, ENDS_BEFORE_7)) if source.include?(ENDS)
        end

        # @param commands [Single, Cluster]
        # @return [Script] the form that these servers support
        # @raise [ReplyError]
        def for(commands) = @before_7.nil? || commands.abilities.ends? ? self : @before_7

        # @param commands [Single, Cluster]
        # @param key [String]
        # @param arguments [Array<String>]
        # @return [Object] the script's reply
        def call(commands, key, *arguments)
          commands.call(["EVALSHA", @sha, "1", key, *arguments], key: key, resend: false)
        rescue ReplyError => error
          raise unless error.code == "NOSCRIPT"
          commands.call(["EVAL", @source, "1", key, *arguments], key: key, resend: false)
        end

        # @param commands [Single, Cluster]
        # @param calls [Array<Array<String>>] key and arguments of each call
        # @return [Array<Object>] the replies, including errors; needs one trip if the servers know the script
        def call_many(commands, calls)
          sent_again(commands, commands.pipelined(calls.map { |arguments| command(*arguments) }), calls)
        end

        # @param arguments [Array<String>] key and arguments
        # @return [Array<String>] a command to send together with others; see {#sent_again}
        def command(*arguments) = ["EVALSHA", @sha, "1", *arguments]

        # @param replies [Array<Object>]
        # @param calls [Array<Array<String>, nil>] nil for commands that are not calls of this script
        # @return [Array<Object>] the replies, after the script was sent to servers that did not know it
        def sent_again(commands, replies, calls)
          unknown = replies.each_index.select do |index|
            calls[index] && replies[index].is_a?(ReplyError) && replies[index].code == "NOSCRIPT"
          end
          return replies if unknown.empty?
          again = commands.pipelined(unknown.map { |index| ["EVAL", @source, "1", *calls[index]] })
          unknown.each_with_index { |index, position| replies[index] = again[position] }
          replies
        end

        # Returns the expiry in ms, the bytes, and the remaining ttl in ms. KEYS: key.
        LOOK = new(<<~LUA)
          local bytes = redis.pcall('GET', KEYS[1])
          if not bytes or bytes.err then return bytes end
          return {redis.call('PEXPIRETIME', KEYS[1]), bytes, redis.call('PTTL', KEYS[1])}
        LUA

        # Sets the key if it is absent; otherwise returns the expiry in ms and the bytes of the existing entry. KEYS:
        # key. ARGV: bytes, ttl in ms.
        ADD_OR_GET = new(<<~LUA)
          if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return false end
          return {redis.call('PEXPIRETIME', KEYS[1]), redis.call('GET', KEYS[1])}
        LUA

        # Sets the key if the entry matches the token: the expiry in ms (empty: any) and the SHA-1 of the bytes; or,
        # with the expiry "=", any expiry and these bytes. KEYS: key. ARGV: expiry, SHA-1 or bytes, bytes, ttl in ms.
        COMPARE_AND_SET = new(<<~LUA)
          local bytes = redis.call('GET', KEYS[1])
          if not bytes then return 0 end
          if ARGV[1] == '=' then
            if bytes ~= ARGV[2] then return 0 end
          else
            if ARGV[1] ~= '' and string.format('%.0f', redis.call('PEXPIRETIME', KEYS[1])) ~= ARGV[1] then return 0 end
            if redis.sha1hex(bytes) ~= ARGV[2] then return 0 end
          end
          redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[4])
          return 1
        LUA

        # As COMPARE_AND_SET with a SHA-1, but returns the bytes and remaining ttl in ms of an entry that has changed.
        REPLACE_OR_GET = new(<<~LUA)
          local bytes = redis.call('GET', KEYS[1])
          if not bytes then return 0 end
          if redis.sha1hex(bytes) ~= ARGV[2] or
             ARGV[1] ~= '' and string.format('%.0f', redis.call('PEXPIRETIME', KEYS[1])) ~= ARGV[1] then
            return {bytes, redis.call('PTTL', KEYS[1])}
          end
          redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[4])
          return 1
        LUA

        # Deletes a frame unless it has the part EXCLUSIVE; see {Backend#delete_frames}. Runs DEL even for an absent
        # key, so that a server that refuses writes reports it. KEYS: key. ARGV: first byte of a frame, size of its
        # header, offset of the parts' size, the part's number.
        DELETE_FRAME = new(<<~LUA)
          local magic, header = tonumber(ARGV[1]), tonumber(ARGV[2])
          local size_at, exclusive = tonumber(ARGV[3]), tonumber(ARGV[4])
          local function two_bytes(bytes, at) return bytes:byte(at) + 256 * bytes:byte(at + 1) end
          local head = redis.pcall('GETRANGE', KEYS[1], 0, header - 1)
          if type(head) ~= 'string' then return 0 end
          if #head > 0 then
            if head:byte(1) ~= magic or #head < header then return 0 end
            local size, at = two_bytes(head, size_at + 1), 1
            local parts = size == 0 and '' or redis.call('GETRANGE', KEYS[1], header, header + size - 1)
            while at + 2 <= #parts do
              if parts:byte(at) == exclusive then return 0 end
              at = at + 3 + two_bytes(parts, at + 1)
            end
          elseif redis.call('EXISTS', KEYS[1]) == 1 then
            return 0
          end
          return redis.call('UNLINK', KEYS[1])
        LUA
        # @private
        OF_FRAMES = [Frame::Layout::MAGIC, Frame::Layout::HEADER_BYTES, Frame::Layout::PARTS_BYTES_AT,
                     Frame::Layout::PART_EXCLUSIVE].map(&:to_s).freeze

        # Increments a counter and keeps its expiry. Returns the count as a String, because Lua's integers have only
        # 53 bits. If the expiry marks an endless entry (see Claims), the script sets a new mark, as every set does.
        # KEYS: key. ARGV: amount, ttl in ms, the lowest ttl that is a mark, a new mark.
        INCREMENT = new(<<~LUA)
          if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return ARGV[1] end
          redis.call('INCRBY', KEYS[1], ARGV[1])
          if redis.call('PTTL', KEYS[1]) >= tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[1], ARGV[4]) end
          return redis.call('GET', KEYS[1])
        LUA
      end
    end
  end
end
