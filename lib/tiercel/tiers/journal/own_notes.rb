# frozen_string_literal: true

require_relative "../../clock"

module Tiercel
  class Tiers < Backend
    class Journal
      # The notes of one process, in memory. It has the methods of {Ring}.
      #
      # @private
      class OwnNotes
        Note = Struct.new(:kind, :due_at)
        private_constant :Note

        def initialize(delay)
          @delay = delay
          @lock = Mutex.new
          @replaying = Mutex.new
          @notes = {}
          @bytes = 0
        end

        def pending? = !@notes.empty?

        def include?(key) = @notes.key?(key)

        def note(keys, kind)
          @lock.synchronize do
            bytes = keys.sum { |key| @notes.key?(key) ? 0 : key.bytesize }
            next false if @bytes + bytes > MOST_BYTES
            @bytes += bytes
            note = Note.new(kind, Clock.monotonic + @delay)
            keys.each do |key|
              @notes.delete(key) # a key that is noted again is replayed last
              @notes[key] = note
            end
            true
          end
        end

        def replay
          return unless pending?
          return BUSY_SECONDS unless @replaying.try_lock
          begin
            due = @lock.synchronize { due_notes }
            return @notes.first&.then { |_, note| note.due_at - Clock.monotonic } if due.empty?
            generations, frames = due.keys.partition { |key| due[key].kind == GENERATION }
            yield Page.new(frames, generations, false)
            @lock.synchronize { remove(due) }
            pending? ? 0.0 : nil
          ensure
            @replaying.unlock
          end
        end

        private

        def due_notes
          now = Clock.monotonic
          @notes.first(PAGE).take_while { |_, note| note.due_at <= now }.to_h
        end

        # A key that was noted again while its page was replayed has another note.
        def remove(due)
          due.each { |key, note| @bytes -= key.bytesize if @notes[key].equal?(note) && @notes.delete(key) }
        end
      end
    end
  end
end
