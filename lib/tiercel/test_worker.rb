# frozen_string_literal: true

# Gives each of several parallel test processes its own caches.
#
# Rails' `parallelize` forks workers; parallel_tests starts processes with TEST_ENV_NUMBER. From {.watch} on, the stores
# of each process are separate:
#
# - `shared:` becomes `memory:`, the same engine in private memory
# - `sqlite:` and `file:` use files beside the application's: PATH-NUMBER
# - on a server, every key begins with "test-worker-NUMBER:" ({.namespace})
#
# So a worker's writes, counters and clears are invisible to the other workers. The threads of a process share its
# stores.
module Tiercel::TestWorker
  ON_DISK = %w[sqlite file].freeze
  # Backends that are private to a process anyway.
  PRIVATE = %w[memory null].freeze
  # The size of the `memory:` store that replaces `shared:`, unless `size` is smaller.
  MEMORY_BYTES = 32 << 20
  MEMORY_OPTIONS = %i[size memo].freeze

  @number = nil

  class << self
    # @return [String, nil] this worker's number; nil if the process is not a worker
    attr_reader :number
    # @return [Class] the class of the stores to redirect
    attr_writer :store_class

    # Detects that this process is one of several test processes. Rails calls the second hook in the parent too,
    # without a number.
    #
    # @return [void]
    def watch
      from_environment(ENV.fetch("TEST_ENV_NUMBER", nil))
      ActiveSupport.on_load(:active_support_test_case) do
        require "active_support/testing/parallelization"
        ActiveSupport::Testing::Parallelization.after_fork_hook { |number| ::Tiercel::TestWorker.enter(number) }
        ActiveSupport::Testing::Parallelization.run_cleanup_hook { |number| ::Tiercel::TestWorker.leave if number }
      end
    end

    # Makes this process a worker. Existing stores are reopened in this worker's cache, and new stores open there.
    #
    # @param number [Integer, String] distinguishes the workers of one run
    # @param empty [Boolean] whether to remove entries of an earlier run
    # @return [void]
    def enter(number, empty: true)
      @number = [@number, number].compact.join("-")
      settings = {}.compare_by_identity # copies of a store share its settings
      reopened = stores.select { |store| reopen(store, settings) }
      reopened.each(&:clear) if empty
    end

    # Removes this worker's entries and files. Does nothing in a process that is not a worker.
    #
    # @return [void]
    def leave
      return unless @number
      stores.each(&:clear)
      remove_files
    end

    # Removes this worker's files: PATH-NUMBER.
    #
    # @return [void]
    def remove_files
      return unless @number
      stores.map { |store| store.backend.tiers.last }.uniq.each do |backend|
        backend.remove_files if backend.respond_to?(:remove_files) && backend.to_s.end_with?("-#{@number}")
      end
    end

    # @param url [BackendURL] the application's URL
    # @param options [Hash{Symbol => Object}] the backend's options
    # @return [Array(BackendURL, Hash)] URL and options for this process
    def place(url, options)
      return [url, options] unless @number
      case url.scheme
      when "shared" then [Tiercel::BackendURL.parse("memory:"), memory_options(options)]
      when *ON_DISK then [Tiercel::BackendURL.new(url.scheme, "#{url.rest}-#{@number}", url.options), options]
      else [url, options]
      end
    end

    # @param url [BackendURL] the application's URL
    # @return [String, nil] the prefix of this process' keys on that server
    def namespace(url)
      "test-worker-#{@number}" unless @number.nil? || ["shared", *ON_DISK, *PRIVATE].include?(url.scheme)
    end

    private

    # parallel_tests leaves the variable empty for its first process, which uses the same servers as the others.
    # Minitest may run the tests after this block of `at_exit`, so `after_run` removes the files once more.
    def from_environment(number)
      return unless number && @number.nil?
      enter(number.empty? ? "1" : number, empty: false)
      process = Tiercel::Forks.current
      remove = -> { remove_files if Tiercel::Forks.current?(process) }
      at_exit(&remove)
      Minitest.after_run(&remove) if defined?(Minitest) && Minitest.respond_to?(:after_run)
    end

    # A store may be impossible to build, for example because its folder was removed. The other stores must open
    # anyway.
    def reopen(store, settings)
      store.reopen(settings)
    rescue Tiercel::Error, Tiercel::ConfigurationError => error
      warn("Tiercel: test worker #{@number}: #{store.inspect} stays unchanged: #{error.message}")
      false
    end

    # Omits stores whose construction failed.
    def stores = @store_class ? ObjectSpace.each_object(@store_class).select(&:built?) : []

    def memory_options(options)
      bytes = options[:size] ? Tiercel::Sizes.bytes(options[:size]) : MEMORY_BYTES
      options.slice(*MEMORY_OPTIONS).merge(size: [bytes, MEMORY_BYTES].min)
    end
  end
end
