# frozen_string_literal: true

require_relative "../../backend"
require_relative "../../errors"
require_relative "connection"

module Tiercel
  module Backends
    class Redis < Backend
      # Translates error replies to {BackendError}s.
      module Failures
        # Error codes that concern the whole server, so that a retry would only cost time.
        NOT_SERVING = %w[LOADING BUSY CLUSTERDOWN MASTERDOWN TRYAGAIN ASK MOVED NOAUTH WRONGPASS UNBLOCKED].freeze
        # Replies to a new connection's first commands: a password that the server does not expect, a missing
        # database.
        NO_WAY_IN = /\AERR (AUTH |DB index)/
        # The reply to a user who may access other keys, but not this one.
        FORBIDDEN = /\ANOPERM .*access (one of the keys|a key)/
        NOT_A_NUMBER = /not an integer or out of range|would overflow/

        module_function

        # @param error [ReplyError, BackendError]
        # @param backend [#to_s]
        # @param key [String, nil]
        # @return [BackendError]
        def translate(error, backend, key)
          return error if error.is_a?(BackendError)
          failure = (serving?(error) ? Refused : Unavailable).new(error.message, backend: backend, key: key)
          failure.forbidden = FORBIDDEN.match?(error.message) if failure.is_a?(Refused)
          failure
        end

        # @return [Boolean] whether INCRBY found bytes that are not a number
        def not_a_number?(error) = NOT_A_NUMBER.match?(error.message)

        def serving?(error)
          !NOT_SERVING.include?(error.code) && !error.message.include?(Connection::MAX_CLIENTS) &&
            !NO_WAY_IN.match?(error.message)
        end
      end
    end
  end
end
