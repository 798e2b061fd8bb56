# frozen_string_literal: true

module Tiercel
  module Lab
    module Load
      # The operations of a load. Each is a Proc that takes the index of an entry and returns whether it found or stored
      # a value. A Proc belongs to one store, so that its call sites see a single class.
      module Calls
        module_function

        # @param name [String] a public method of this module
        # @param subject [Subject]
        # @return [Proc]
        def of(name, subject) = public_send(name, subject.store, subject.entries)

        # Reads, and writes after a miss.
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

        # The loop of the second article.
        def exist_and_fetch(store, entries)
          found = fetch(store, entries)
          names = entries.names
          ->(index) { store.exist?(names[index]) && found.call(index) }
        end

        # Calls Tiercel's backend without the store above it.
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
