# frozen_string_literal: true

require_relative "../../clock"
require_relative "../../guard_log"

module Tiercel
  module Backends
    module Remote
      # Writes the log of one server, for backends with several servers. Each server has its own breaker; the log has a
      # line when the breaker opens, and a line when the server answers again. All stores of the process share one log
      # for a server.
      module NodeLog
        @logs = {}
        @lock = Mutex.new

        # @param name [String] the server's name, without its password
        # @return [GuardLog]
        def self.of(name)
          @lock.synchronize { @logs[name] ||= GuardLog.new(name, method(:logger), Clock.method(:monotonic)) }
        end

        # The logger of all stores. If it is nil, the log uses Rails' logger.
        def self.logger = (ActiveSupport::Cache::Store.logger if defined?(ActiveSupport::Cache::Store))
        private_class_method :logger
      end
    end
  end
end
