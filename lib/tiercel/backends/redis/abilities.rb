# frozen_string_literal: true

require "digest"

module Tiercel
  module Backends
    class Redis < Backend
      # The commands that a server supports and this user may run. The first call that depends on them asks the server,
      # with one trip per process. The answer is valid until the connections are renewed or a reply contradicts the
      # answer.
      class Abilities
        # A key that no program writes. A reply that denies access to it still proves that the command exists.
        KEY = "tiercel:abilities"
        SCRIPT = "return 1"
        SCRIPTS = [["EVALSHA", Digest::SHA1.hexdigest(SCRIPT), "1", KEY], ["EVAL", SCRIPT, "1", KEY]].freeze
        # Redis 7 also supports SET with both NX and GET.
        REDIS_7 = ["PEXPIRETIME", KEY].freeze
        # Replies to a command that was renamed or is newer than the server, or that the user may not run.
        REFUSAL = /\AERR unknown command|\ANOPERM .*no permissions to run/i
        # Replies that contradict an earlier positive answer.
        CONTRADICTION = /\AERR syntax error|eval|pexpiretime/i
        # Seconds after which the process asks again if a server refused scripts, because the user's rights may have
        # changed.
        AGAIN_SECONDS = 60.0
        Answer = Struct.new(:ends, :refusal, :again_at)
        private_constant :KEY, :SCRIPT, :SCRIPTS, :REDIS_7, :REFUSAL, :CONTRADICTION, :AGAIN_SECONDS, :Answer

        # @param commands [Single, Cluster]
        def initialize(commands)
          @commands = commands
          @answer = nil
        end

        # @return [Boolean] whether {#scripts?} and {#ends?} need no trip
        def known? = !@answer.nil? && (@answer.again_at.nil? || Clock.monotonic < @answer.again_at)

        # @return [Boolean] whether the server runs scripts
        # @raise [ReplyError]
        def scripts? = refusal.nil?

        # @return [String, nil] the server's reply to a script that it refuses
        # @raise [ReplyError]
        def refusal = answer.refusal

        # @return [Boolean] whether the server reports when an entry expires
        # @raise [ReplyError]
        def ends? = answer.ends

        # Makes the next call ask the server again.
        #
        # @return [void]
        def forget
          @answer = nil
        end

        # A reply contradicts the answer: another server may respond now, or this user may have lost rights.
        #
        # @param error [Exception] an error reply
        # @return [void]
        def contradict(error)
          return unless error.is_a?(ReplyError) && @answer && CONTRADICTION.match?(error.message)
          forget if @answer.refusal.nil? && (@answer.ends || REFUSAL.match?(error.message))
        end

        private

        # If the reply is neither a result nor a refusal (for example while the server is loading), nothing is
        # remembered.
        def answer
          return @answer if known?
          *scripts, ends = @commands.pipelined([*SCRIPTS, REDIS_7])
          refused = scripts.find { |reply| refused?(reply) }
          answer = Answer.new(!refused?(ends), refused&.message, refused && (Clock.monotonic + AGAIN_SECONDS))
          @answer = answer if [*scripts, ends].all? { |reply| refused?(reply) || decided?(reply) }
          answer
        end

        def refused?(reply) = reply.is_a?(ReplyError) && REFUSAL.match?(reply.message)

        def decided?(reply)
          return true if !reply.is_a?(Exception) || (reply.is_a?(ReplyError) && reply.code == "NOSCRIPT")
          reply.is_a?(ReplyError) && reply.forbidden?
        end
      end
    end
  end
end
