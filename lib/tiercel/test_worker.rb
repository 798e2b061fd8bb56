# frozen_string_literal: true

require_relative "backend_url"
require_relative "errors"
require_relative "sizes"

module Tiercel
  # One of several processes that run tests at the same time: what it caches is its own.
  #
  # Rails' `parallelize` forks workers, parallel_tests starts processes with TEST_ENV_NUMBER; {Railtie} tells this
  # module of both. From then on the stores of the process are apart from those of the others:
  #
  # - `shared:` is `memory:`, the same engine on memory of the process
  # - `sqlite:` and `file:` lie beside the application's: PATH-NUMBER
  # - on a server, every key begins with "test-worker-NUMBER:" ({Store::WorkerKeys})
  #
  # So what one worker writes, counts or clears is not seen by the others. Threads of a process share its stores.
  module TestWorker
    ON_DISK = %w[sqlite file].freeze
    # Backends of one process, or of none.
    PRIVATE = %w[memory null].freeze
    # The size of a worker's part of `shared:`, unless `size` is less.
    MEMORY_BYTES = 32 << 20
    MEMORY_OPTIONS = %i[size average_entry_bytes memo].freeze

    @number = nil

    class << self
      # @return [String, nil] of this process; nil where it is no worker
      attr_reader :number
      # @return [Class] whose instances move to places of their own
      attr_writer :store_class

      # Makes this process a worker: the stores that there are begin anew where this worker's cache is, and those
      # that will be built begin there.
      #
      # @param number [Integer, String] tells the workers of one run apart
      # @param empty [Boolean] whether what an earlier run left there is removed
      # @return [void]
      def enter(number, empty: true)
        @number = [@number, number].compact.join("-")
        settings = {}.compare_by_identity # copies of a store share theirs
        reopened = stores.select { |store| reopen(store, settings) }
        reopened.each(&:clear) if empty
      end

      # Removes what this worker has cached, and its files. In a process that is no worker it does nothing.
      #
      # @return [void]
      def leave
        return unless @number
        stores.each(&:clear)
        remove_files
      end

      # Removes the files of this worker: PATH-NUMBER.
      #
      # @return [void]
      def remove_files
        return unless @number
        stores.map { |store| last_tier(store.backend) }.uniq.each do |backend|
          backend.remove_files if backend.respond_to?(:remove_files) && backend.to_s.end_with?("-#{@number}")
        end
      end

      # @param url [BackendURL] of the application
      # @param options [Hash{Symbol => Object}] of the backend
      # @return [Array(BackendURL, Hash)] those of this process
      def place(url, options)
        return [url, options] unless @number
        case url.scheme
        when "shared" then [BackendURL.parse("memory:"), memory_options(options)]
        when *ON_DISK then [BackendURL.new(url.scheme, "#{url.rest}-#{@number}", url.options), options]
        else [url, options]
        end
      end

      # @param url [BackendURL] of the application
      # @return [String, nil] what the keys of this process begin with there
      def namespace(url)
        "test-worker-#{@number}" unless @number.nil? || ["shared", *ON_DISK, *PRIVATE].include?(url.scheme)
      end

      private

      def last_tier(backend) = backend.respond_to?(:last) ? backend.last : backend

      # A store that cannot be built here and now (its folder has been removed, perhaps) is nobody's loss but its own.
      def reopen(store, settings)
        store.reopen(settings)
      rescue Error, ConfigurationError => error
        warn("Tiercel: test worker #{@number}: #{store.inspect} stays as it was: #{error.message}")
        false
      end

      # Without those whose building has failed.
      def stores = @store_class ? ObjectSpace.each_object(@store_class).select(&:built?) : []

      def memory_options(options)
        bytes = options[:size] ? Sizes.bytes(options[:size]) : MEMORY_BYTES
        options.slice(*MEMORY_OPTIONS).merge(size: [bytes, MEMORY_BYTES].min)
      end
    end
  end
end
