# frozen_string_literal: true

module Tiercel
  module Store
    # Extends the stores of a {TestWorker} over a server that all workers share: every namespace, of the store and of a
    # call, is within that of the worker.
    #
    # @private
    module WorkerKeys
      # @param store [ActiveSupport::Cache::TiercelStore]
      # @param worker [String] the worker's namespace
      # @return [void]
      def self.extend_store(store, worker)
        store.instance_variable_set(:@worker_namespace, worker)
        store.extend(self)
        store.namespace = store.namespace
      end

      # See {Keys#namespace=}.
      def namespace=(namespace)
        super(within_worker(namespace))
      end

      private

      # Asked by Rails for every call that the fast path leaves to it; twice for some, so it keeps what it has made.
      def merged_options(options)
        merged = super
        merged.merge(namespace: within_worker(merged[:namespace]))
      end

      # Rails' way puts the namespace of a call within that of the worker.
      def usual_options?(options) = !options.key?(:namespace) && super

      def tag_keys(names, namespace) = super(names, within_worker(namespace))

      def within_worker(namespace)
        return -> { within_worker(namespace.call) } if namespace.respond_to?(:call)
        return @worker_namespace if namespace.nil?
        inside = namespace == @worker_namespace || namespace.to_s.start_with?("#{@worker_namespace}:")
        inside ? namespace : "#{@worker_namespace}:#{namespace}"
      end
    end
  end
end
