# frozen_string_literal: true

module Tiercel
  module Lab
    module Load
      # The operations of a load: each is a Proc that takes the index of an entry and says whether it found, or stored,
      # something. A Proc is made for one store, so that its call sites see one class.
      module Calls
        module_function

        # @param name [String] a public method of this module
        # @param subject [Subject]
        # @return [Proc]
        def of(name, subject) = public_send(name, subject.store, subject.entries)

        # A read, and a write of what it missed.
        def read_or_write(store, entries)
          names = entries.names
          lambda do |index|
            next true if store.read(names[index])
            store.write(names[index], entries.value(index))
            false
          end
        end

        def read(store, entries)
          names = entries.names
          ->(index) { !store.read(names[index]).nil? }
        end

        def write(store, entries)
          names = entries.names
          ->(index) { store.write(names[index], entries.value(index)) }
        end

        def fetch(store, entries)
          names = entries.names
          lambda do |index|
            hit = true
            store.fetch(names[index]) { hit = false }
            hit
          end
        end

        # The second article's loop.
        def exist_and_fetch(store, entries)
          found = fetch(store, entries)
          names = entries.names
          ->(index) { store.exist?(names[index]) && found.call(index) }
        end

        # Tiercel's backend, without the store above it.
        def backend_get(store, entries)
          backend, names = store.backend, entries.names
          ->(index) { !backend.get(names[index]).nil? }
        end

        def backend_set(store, entries)
          backend, names = store.backend, entries.names
          values = Array.new(entries.size) { |index| entries.value(index).b.freeze }
          ->(index) { backend.set(names[index], values[index]) }
        end
      end
    end
  end
end
