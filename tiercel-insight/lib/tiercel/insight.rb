# frozen_string_literal: true

require "active_support"
require "active_support/cache"
require "active_support/isolated_execution_state"
require "active_support/notifications"
require "tmpdir"
require_relative "insight/version"

# Shows the effect of an application's cache, whatever its store: hits, the cost of misses by class of key, the effect
# of more memory, and values that are no longer true. docs/insight.md describes it.
#
#   Tiercel::Insight.figures.totals      # => { hits: 91_204, misses: 512, block_seconds: 40.3, ... } of the machine
#   Tiercel::Insight.worth.sentences
#   # => ["512.0 MB in place of 256.0 MB: 3.1 ms less per request [2.4 to 3.9]", ...]
#   Tiercel::Insight.audit(0.001)        # verifies one hit in 1,000
module Tiercel::Insight
  # An invalid option.
  class ConfigurationError < ArgumentError; end

  # @private
  UNCOUNTED = :tiercel_insight_uncounted

  { audit: %i[Audit Comparison], collector: %i[Collector], doctor: %i[Doctor], entry_report: %i[EntryReport],
    figures: %i[Figures], key_class: %i[KeyClass], metrics: %i[Metrics], process_file: %i[ProcessFile],
    summary: %i[Summary], text: %i[Text], test_helper: %i[TestHelper], web: %i[Web],
    worth: %i[Worth Capacity] }.each do |file, names|
    names.each { |name| autoload name, File.expand_path("insight/#{file}", __dir__) }
  end

  @folder = @collector = @auditor = nil

  class << self
    # @return [Collector, nil] the collector of this process
    attr_reader :collector
    # @private
    # @return [Audit, nil]
    attr_reader :auditor
    # @return [String] the folder of this application's figures; the processes that share it are added up
    attr_writer :folder

    def folder = @folder ||= File.join(Dir.tmpdir, "tiercel-insight-#{Process.uid}")

    # Counts the calls of a store from now on. Rails calls it at boot, for Rails.cache.
    #
    # @param store [ActiveSupport::Cache::Store]
    # @param folder [String]
    # @param share [Float, nil] the first share of the keys whose reads are sampled
    # @return [Collector]
    def start(store, folder: self.folder, share: nil)
      @folder = folder
      @collector&.stop
      @collector = Collector.new(store, folder, share:).start
    end

    # @return [void]
    def stop
      @collector&.stop
      @collector = nil
      audit(nil)
    end

    # @return [Figures] of all processes of this machine
    def figures
      @collector&.flush
      Figures.new(folder)
    end

    # @param store [ActiveSupport::Cache::Store]
    # @param figures [Figures]
    # @return [Worth] what other sizes, and each class of keys, are worth
    def worth(store = @collector&.store || Rails.cache, figures: self.figures)
      reads, share, counted = figures.sample
      computed = figures.classes.select { |one| one[:misses].positive? }
      costs = computed.to_h { |one| [one[:name], one[:seconds] / one[:misses]] }
      Worth.new(reads, share, counted, capacity: Capacity.of(store), costs:)
    end

    # Verifies a share of the hits of `fetch`, and of `cache` in views: runs the block as well, and compares.
    #
    # @param share [Float, nil] 0.001: one hit in 1,000; 1.0 in tests; nil: none
    # @param store [ActiveSupport::Cache::Store, nil] nil: the application's
    # @param options [Hash] see {Audit#initialize}
    # @return [Audit, nil]
    # @raise [ConfigurationError]
    def audit(share = 0.001, store: nil, **options)
      @auditor = share.nil? || share.zero? ? nil : Audit.new(share, **options).tap { Audit.install(store && [store]) }
    end

    # Runs the block without counting this thread's calls of caches, and without an audit.
    #
    # @return [Object] the block's value
    def uncounted
      before = ActiveSupport::IsolatedExecutionState[UNCOUNTED]
      ActiveSupport::IsolatedExecutionState[UNCOUNTED] = true
      yield
    ensure
      ActiveSupport::IsolatedExecutionState[UNCOUNTED] = before
    end

    # @private
    # @return [Float] the median duration of eleven calls of the block, in seconds
    def median_seconds
      times = Array.new(11) do
        began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        yield
        Process.clock_gettime(Process::CLOCK_MONOTONIC) - began
      end
      times.sort[5]
    end

    # @private
    def uncounted? = ActiveSupport::IsolatedExecutionState[UNCOUNTED]

    # @private
    # @return [Boolean] whether this process is a command, which counts nothing
    def quiet? = ENV["TIERCEL_INSIGHT"] == "quiet"
  end
end

require_relative "insight/railtie" if defined?(Rails::Railtie)
