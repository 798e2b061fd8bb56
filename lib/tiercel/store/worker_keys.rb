# frozen_string_literal: true

module Tiercel
  module Store
    # Extends the stores of a {TestWorker}, if all workers share a server: the worker's namespace precedes every
    # namespace of the store and of a call.
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

      # Rails calls this for every call outside the fast path, and twice for some calls; the second call keeps the first
      # namespace.
      def merged_options(options)
        merged = super
        merged.merge(namespace: within_worker(merged[:namespace]))
      end

      # The path of Rails' entries adds the worker's namespace to a namespace of the call.
      def naming_options(options, most_tags) = !options.key?(:namespace) && super

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
