# frozen_string_literal: true

# The deletes and invalidations that a remote backend did not confirm. Once the server answers again, this process
# repeats them before it reads their keys. Rails' own stores lose an unconfirmed delete, so the deleted value returns
# with the server.
#
# Each list belongs to one {Guard} of one process. The list contains keys without values, because another process may
# have written a newer value in between. A repeated delete removes that value too, which costs a miss.
# {Backend#delete_frames} spares raw values, counters and entries written with `unless_exist`. At exit, the process
# sends the list once more and reports the deletes that still fail.
class Tiercel::Undelivered
  # Maximum number of keys in a list. A full list drops its oldest keys and reports the loss.
  MOST_KEYS = 100_000
  # Number of keys sent in one trip.
  PAGE = 1_000
  # Maximum time in seconds that one call spends on the list; the next call continues.
  SECONDS_PER_CALL = 0.2
  # Seconds before the list is sent again, if one of several servers refuses or does not answer. Calls to the other
  # servers continue.
  PAUSE_SECONDS = 0.25
  # A request that timed out may still arrive within this time, so a key noted as late is pending until then, and is
  # deleted again.
  LATE_SECONDS = 8.0

  # The lists of this process.
  LISTS = ObjectSpace::WeakMap.new
  private_constant :LISTS
  at_exit { LISTS.each_key(&:finish) }

  # @param backend [Backend]
  # @param clock [#call] returns seconds of a monotonic clock
  # @param handle [#call] reports a {BackendError} as the guard does: handle(error, method)
  def initialize(backend, clock: Tiercel::Clock.method(:monotonic), &handle)
    @backend = backend
    @clock = clock
    @handle = handle
    @lock = Mutex.new
    forget
    LISTS[self] = true
  end

  # @return [Boolean] whether keys are waiting: a variable, because each call of the backend asks
  attr_reader :any
  alias any? any

  # @return [Integer] number of waiting keys
  def size = @lock.synchronize { (@due.keys | @late.keys).size }

  # @param keys [Array<String>] keys of a change that the backend did not confirm
  # @param late [Boolean] whether the change may still arrive
  # @return [void]
  def note(keys, late: false)
    dropped = @lock.synchronize do
      forget unless Tiercel::Forks.current?(@process)
      keys.each do |key|
        @due.delete(key) # to the end
        @due[key] = keys
        next unless late
        @late.delete(key) # to the end
        @late[key] = @clock.call + LATE_SECONDS
      end
      @any = true unless keys.empty?
      @late.shift while @late.size > MOST_KEYS
      surplus = [@due.size - MOST_KEYS, 0].max
      surplus.times { @due.shift }
    end
    report_lost(dropped, "the list holds at most #{MOST_KEYS} keys") if dropped.positive?
  end

  # @param keys [Array<String>]
  # @return [Array<String>] the keys whose delete is waiting; callers must not use the backend's bytes under these keys
  def pending(keys) = any? ? @lock.synchronize { keys.select { |key| @due.key?(key) || @late.key?(key) } } : []

  # Sends the waiting deletes. The guard calls this before each call while {#any?} is true; one thread at a time sends.
  #
  # @param all [Boolean] whether to go on until the list is empty
  # @return [void]
  # @raise [BackendError] if the only server does not answer
  def deliver(all: false)
    return if @again_at && @clock.call < @again_at
    return unless @sending.try_lock
    begin
      @lock.synchronize { forget unless Tiercel::Forks.current?(@process) }
      due_late
      finish_at = @clock.call + SECONDS_PER_CALL
      until (page = @lock.synchronize { @due.first(PAGE).to_h }).empty?
        break if send_page(page).any? || (@clock.call >= finish_at && !all)
      end
      @lock.synchronize { @any = !(@due.empty? && @late.empty?) }
    ensure
      @sending.unlock
    end
  end

  # Sends the list once more at the end of the process, and reports the deletes that are lost.
  #
  # @private
  def finish
    return unless any? && Tiercel::Forks.current?(@process)
    @again_at = nil
    begin
      deliver(all: true)
    rescue Tiercel::BackendError
      nil # the report below says so
    end
    remaining = @lock.synchronize { @due.size }
    report_lost(remaining, "the process ends") if remaining.positive?
  end

  private

  def forget
    @process = Tiercel::Forks.current
    @due = {} # by key, in the order of delivery: an object that another note of the key replaces
    @late = {} # by key, in the order of time: when to delete it once more
    @any = false
    @again_at = nil
    @sending = Mutex.new
  end

  def due_late
    now = @clock.call
    @lock.synchronize { @due[@late.shift.first] ||= now while @late.any? && @late.first.last <= now }
  end

  # A key stays in the list if another thread notes it again during the trip.
  #
  # @return [Hash{String => BackendError}] the keys that could not be deleted
  def send_page(page)
    generations, frames = page.keys.partition { |key| key.b.include?(Tiercel::Frame::Layout::GENERATION_KEY) }
    failed = frames.empty? ? {} : @backend.delete_frames(frames)
    generations.each do |key|
      @backend.delete(key)
    rescue Tiercel::BackendError => error
      failed[key] = error
    end
    # A server that refuses to delete, such as a demoted master, still answers reads of other keys.
    raise failed.first.last if failed.size == page.size && failed.each_value.all?(Tiercel::Unavailable)
    failed.reject! { |_, error| error.is_a?(Tiercel::Refused) && error.forbidden } # the user may never change the key
    @lock.synchronize do
      page.each { |key, note| @due.delete(key) if @due[key].equal?(note) }
      failed.each_key { |key| @due[key] ||= key }
    end
    @again_at = failed.empty? ? nil : @clock.call + PAUSE_SECONDS
    failed
  end

  def report_lost(count, why)
    error = Tiercel::Refused.new("#{count} deletes that the server did not confirm are lost (#{why}): old values " \
                                 "under these keys may be read until they expire", backend: @backend.to_s)
    @handle.call(error, :undelivered)
  end
end
