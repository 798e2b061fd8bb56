# frozen_string_literal: true

require_relative "../../clock"
require_relative "../../guard_log"

module Tiercel
  module Backends
    module Remote
      # The log of one server of several, each of which has a breaker of its own: one line when it opens, one
      # when the server answers again. A server has one for the whole process, whoever asks it.
      module NodeLog
        @logs = {}
        @lock = Mutex.new

        # @param name [String] of the server, without its password
        # @return [GuardLog]
        def self.of(name)
          @lock.synchronize { @logs[name] ||= GuardLog.new(name, method(:logger), Clock.method(:monotonic)) }
        end

        # That of all stores; where it is nil, the log takes that of Rails.
        def self.logger = (ActiveSupport::Cache::Store.logger if defined?(ActiveSupport::Cache::Store))
        private_class_method :logger
      end
    end
  end
end
