# frozen_string_literal: true

# The deletes and invalidations that a remote backend did not confirm. Once the server answers again, this process
# repeats them before it reads their keys. Rails' own stores lose an unconfirmed delete, so the deleted value returns
# with the server.
#
# Each list belongs to one {Guard} of one process. The list contains keys without values, because another process may
# have written a newer value in between. A repeated delete removes that value too, which costs a miss.
# {Backend#delete_frames} spares raw values, counters and entries written with `unless_exist`. At exit, the process
# sends the list once more and reports the deletes that still fail.
#
# No process knows the lists of the others. So a list is sent in the background too, at most {RETRY_SECONDS} and a
# call's time budget after the server answers again, and a process whose breaker was open reads nothing from the server
# for {SETTLE_SECONDS} after its first answer. A process whose breaker stayed closed does not wait: it made fewer than
# three calls during the outage, or the server answered it.
class Tiercel::Undelivered
  # Maximum number of keys in a list. A full list drops its oldest keys and reports the loss.
  MOST_KEYS = 100_000
  # Number of keys sent in one trip. A server that has just returned may need the time budget for a larger page, and
  # then works for a caller that has given up.
  PAGE = 200
  # Maximum time in seconds that one call spends on the list; the next call continues.
  SECONDS_PER_CALL = 0.2
  # Seconds before the list is sent again, if one of several servers refuses or does not answer. Calls to the other
  # servers continue.
  PAUSE_SECONDS = 0.25
  # Seconds between two attempts in the background. Each one may be a new connection to a server that is down.
  RETRY_SECONDS = 0.1
  # Seconds after an outage in which all keys count as pending, so that others send their lists. The next attempt and
  # its budget take up to 0.35 s, and six lists of 10,000 keys at once less than a second (2 s with
  # `appendfsync always`).
  SETTLE_SECONDS = 2.0
  # A request that timed out may still arrive within this time, so a key noted as late is pending until then, and is
  # deleted again.
  LATE_SECONDS = 8.0

  # The lists of this process.
  LISTS = ObjectSpace::WeakMap.new
  private_constant :LISTS
  at_exit { LISTS.each_key(&:finish) }

  # @param backend [Backend]
  # @param clock [#call] returns seconds of a monotonic clock
  # @param answered [#call] called when the server has answered an attempt in the background
  # @param handle [#call] reports a {BackendError} as the guard does: handle(error, method)
  def initialize(backend, clock: Tiercel::Clock.method(:monotonic), answered: -> {}, &handle)
    @backend = backend
    @clock = clock
    @answered = answered
    @handle = handle
    @lock = Mutex.new
    @settled_at = nil
    @thread = Tiercel::BackgroundThread.new("tiercel undelivered", again: -> { waiting? }) { retry_later }
    forget
    LISTS[self] = true
  end

  # @return [Boolean] whether keys are pending: a variable, because each call of the backend asks
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
    @thread.start
  end

  # The server answers after an outage: all keys are pending for {SETTLE_SECONDS}.
  #
  # @return [void]
  def settle
    @lock.synchronize do
      @settled_at = @clock.call + SETTLE_SECONDS
      @any = true
    end
  end

  # @param keys [Array<String>]
  # @return [Array<String>] the keys whose delete is waiting, here or perhaps in another process; callers must not use
  #   the backend's bytes under these keys
  def pending(keys)
    return [] unless any?
    @lock.synchronize { settling? ? keys : keys.select { |key| @due.key?(key) || @late.key?(key) } }
  end

  # Sends the waiting deletes. The guard calls this before each call while {#any?} is true; one thread at a time sends.
  #
  # @param all [Boolean] whether to go on until the list is empty
  # @return [Boolean, nil] whether keys were sent
  # @raise [BackendError] if the only server does not answer
  def deliver(all: false)
    @lock.synchronize { forget unless Tiercel::Forks.current?(@process) } # also replaces @sending
    return if @again_at && @clock.call < @again_at
    return unless @sending.try_lock
    begin
      due_late
      sent = false
      finish_at = @clock.call + SECONDS_PER_CALL
      until (page = @lock.synchronize { @due.first(PAGE).to_h }).empty?
        failed = send_page(page)
        sent ||= failed.size < page.size
        break if failed.any? || (@clock.call >= finish_at && !all)
      end
      @lock.synchronize { @any = waiting? || settling? }
      sent
    ensure
      @sending.unlock
    end
  end

  # Stops the attempts in the background. The next call of the backend, or the next note, continues.
  #
  # @return [void]
  def close = @thread.stop

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
    @any = settling?
    @again_at = nil
    @sending = Mutex.new
  end

  def waiting? = !(@due.empty? && @late.empty?)
  def settling? = !@settled_at.nil? && @clock.call < @settled_at

  # Sends the whole list at once: no caller waits for it.
  def retry_later
    sleep RETRY_SECONDS
    @answered.call if deliver(all: true)
  rescue Tiercel::BackendError
    nil # the next attempt follows
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
