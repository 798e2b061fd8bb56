# frozen_string_literal: true

require "active_support"
require "active_support/core_ext/class/subclasses"

# Runs refreshes in one thread with a short queue, while the callers return stale values. At exit, the process waits
# {DRAIN_SECONDS} for the jobs.
#
# A job runs inside the Rails executor. A block's value depends on parts of its caller's state, such as the reader's
# language, or the reader's shard. A job therefore takes over these parts:
#
# - `I18n.locale` and `Time.zone`
# - the values of all `ActiveSupport::CurrentAttributes`
# - role, shard and `prevent_writes` of `connected_to`
#
# @private
class Tiercel::Fetch::Refresh
  QUEUED = 100
  DRAIN_SECONDS = 5.0

  @lock = Mutex.new

  class << self
    # @return [Boolean] false if the queue is full or the process is exiting: then the caller computes
    def enqueue(&work)
      job = new(&work)
      @lock.synchronize do
        begin_anew unless Tiercel::Forks.current?(@process)
        return false if @closed || @jobs.size >= QUEUED
        @jobs << job
      end
      @thread.start
      true
    end

    # @return [Boolean] whether nothing is queued and no job runs
    def idle? = @lock.synchronize { !Tiercel::Forks.current?(@process) || (@jobs.empty? && @running.nil?) }

    # Accepts no further jobs, and waits at most `seconds` for the others.
    #
    # @return [void]
    def drain(seconds = DRAIN_SECONDS)
      return unless Tiercel::Forks.current?(@process)
      @closed = true
      deadline = Tiercel::Clock.monotonic + seconds
      sleep 0.005 until idle? || Tiercel::Clock.monotonic >= deadline
    end

    private

    # A child process has none of its parent's threads and jobs.
    def begin_anew
      at_exit { drain } unless @process
      @process = Tiercel::Forks.current
      @jobs = []
      @running = nil
      @closed = false
      waiting = -> { @lock.synchronize { @jobs.any? } }
      @thread = Tiercel::BackgroundThread.new("tiercel refresh", again: waiting) { perform }
    end

    def perform
      while @lock.synchronize { @running = @jobs.shift }
        begin
          @running.run
        rescue StandardError, ScriptError => error
          Tiercel::Reports.handled(error)
        end
      end
    ensure
      @running = nil # the job may have ended its thread
    end
  end

  def initialize(&work)
    @work = work
    @locale = I18n.locale if defined?(I18n)
    @zone = Time.zone if Time.respond_to?(:zone)
    @attributes = attributes_of_caller
    return unless (record = active_record)
    @place = { role: record.current_role, shard: record.current_shard,
               prevent_writes: record.current_preventing_writes }
  end

  # @return [void]
  def run
    executed do
      localized { connected { with_attributes(&@work) } }
    end
  end

  private

  def executed(&)
    executor = Rails.application.executor if defined?(Rails.application) && Rails.application
    executor ? executor.wrap(&) : yield
  end

  def localized(&)
    in_zone = @zone ? -> { Time.use_zone(@zone, &) } : -> { yield }
    @locale ? I18n.with_locale(@locale, &in_zone) : in_zone.call
  end

  def attributes_of_caller
    return [] unless defined?(ActiveSupport::CurrentAttributes)
    ActiveSupport::CurrentAttributes.descendants.filter_map do |current|
      attributes = current.attributes if current.name
      [current, attributes.dup] if attributes&.any?
    end
  end

  # Sets the attributes without the application's writer methods: a writer may change more than its own attribute,
  # and may reject the earlier nil.
  def with_attributes
    instances = @attributes.map { |current, attributes| [current.instance, attributes] }
    before = instances.map { |instance, _| instance.attributes }
    instances.each { |instance, attributes| instance.attributes = attributes.dup }
    yield
  ensure
    instances&.zip(before || []) { |(instance, _), attributes| instance.attributes = attributes if attributes }
  end

  # Active Record, if the application has loaded it.
  def active_record = (ActiveRecord::Base if defined?(ActiveRecord) && ActiveRecord.autoload?(:Base).nil?)

  def connected(&) = @place ? active_record.connected_to(**@place, &) : yield
end
