# frozen_string_literal: true

require "digest"
require "redis-client"

require_relative "../../backend"
require_relative "../../clock"
require_relative "failures"
require_relative "set_or_get"

module Tiercel
  module Backends
    class Redis < Backend
      # The commands that a server has, and lets this user run. The first call that depends on them asks, in one trip of
      # a process; the answer holds until the server's address is renewed, or a reply contradicts it.
      class Abilities
        # A key that nobody writes. A user who may not read it has the command all the same.
        KEY = "tiercel:abilities"
        SCRIPT = "return 1"
        SCRIPTS = [["EVALSHA", Digest::SHA1.hexdigest(SCRIPT), "1", KEY], ["EVAL", SCRIPT, "1", KEY]].freeze
        # Redis 7 has SET with NX and GET, too.
        REDIS_7 = ["PEXPIRETIME", KEY].freeze
        # To a command that was renamed or is newer than the server, and to a user who may not run it.
        REFUSAL = /\AERR unknown command|\ANOPERM .*no permissions to run/i
        # To one of these commands, as a reply to which the answer was another.
        CONTRADICTION = /\AERR syntax error|eval|pexpiretime/i
        # Seconds after which a server that refuses scripts is asked again: somebody may have changed the user's rights.
        AGAIN_SECONDS = 60.0
        Answer = Struct.new(:ends, :refusal, :again_at)
        private_constant :KEY, :SCRIPT, :SCRIPTS, :REDIS_7, :REFUSAL, :CONTRADICTION, :AGAIN_SECONDS, :Answer

        # @param commands [Single, Cluster]
        def initialize(commands)
          @commands = commands
          @answer = nil
        end

        # @return [Boolean] whether {#scripts?} and {#ends?} cost no trip
        def known? = !@answer.nil? && (@answer.again_at.nil? || Clock.monotonic < @answer.again_at)

        # @return [Boolean] whether it runs scripts
        # @raise [RedisClient::Error]
        def scripts? = refusal.nil?

        # @return [String, nil] what it says to a script that it does not run
        # @raise [RedisClient::Error]
        def refusal = answer.refusal

        # @return [Boolean] whether it tells when an entry ends
        # @raise [RedisClient::Error]
        def ends? = answer.ends

        # @return [SetOrGet]
        # @raise [RedisClient::Error]
        def set_or_get = ends? ? SetOrGet::AtOnce : SetOrGet::InTwo

        # Has the next call ask again.
        #
        # @return [void]
        def forget
          @answer = nil
        end

        # Another server may answer by now, or this user may do less than before.
        #
        # @param error [Exception] a reply
        # @return [void]
        def contradict(error)
          return unless error.is_a?(RedisClient::CommandError) && @answer && CONTRADICTION.match?(error.message)
          forget if @answer.refusal.nil? && (@answer.ends || REFUSAL.match?(error.message))
        end

        private

        # Neither a reply nor a refusal (the server is loading, say): nothing is decided.
        def answer
          return @answer if known?
          *scripts, ends = @commands.pipelined([*SCRIPTS, REDIS_7])
          refused = scripts.find { |reply| refused?(reply) }
          answer = Answer.new(!refused?(ends), refused&.message, refused && (Clock.monotonic + AGAIN_SECONDS))
          @answer = answer if [*scripts, ends].all? { |reply| refused?(reply) || decided?(reply) }
          answer
        end

        def refused?(reply) = reply.is_a?(RedisClient::CommandError) && REFUSAL.match?(reply.message)

        def decided?(reply)
          return true if !reply.is_a?(Exception) || reply.is_a?(RedisClient::NoScriptError)
          Failures::FORBIDDEN.match?(reply.message)
        end
      end
    end
  end
end
