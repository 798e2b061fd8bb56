# frozen_string_literal: true

require "active_support/notifications"

module Tiercel
  module Store
    module FastPath
      # Notices when something patches what the fast path goes around: ActiveSupport::Cache::Store and the classes
      # below it, and the parts of ActiveSupport::Notifications that an event passes. APM agents do, some of them long
      # after the application has booted. Ruby tells a class when a method is defined in it, and {Noticing} tells when
      # a module is prepended to it or included; so nothing has to be asked at each call, and no patch comes too late.
      #
      # @private
      module Patches
        SUBSCRIBER = ActiveSupport::Notifications::Fanout::Subscribers::Evented
        private_constant :SUBSCRIBER

        @stores = ObjectSpace::WeakMap.new

        class << self
          # @param store [ActiveSupport::Cache::TiercelStore]
          # @return [void]
          def watch(store) = @stores[store] = true

          # Looks again, for every store that there is.
          #
          # @return [void]
          def recheck = @stores.keys.each { |store| store.check_fast_path }

          # @param name [Symbol] of a method that was defined or removed
          # @return [nil]
          def changed(name)
            recheck if watched.any? { |_, names, _| names.include?(name) }
            nil
          end

          # Has Rails' classes tell of changes from now on.
          #
          # @return [void]
          def notice
            watched.each { |owner, _, _| owner.extend(Noticing) }
            ActiveSupport::Cache::WriteOptions.extend(NoticingAll)
            ActiveSupport::Notifications.extend(NoticingSingletons)
            ActiveSupport::Notifications.singleton_class.prepend(NoticingNotifier)
          end

          # @return [Array<Symbol>] methods of Rails' stores that are not Rails' own
          def of_stores
            owner, names, witness = stores
            names.reject { |name| original?(owner, name, witness) }
          end

          # @return [Boolean] whether events pass through nothing but Rails' own code
          def events_untouched?
            events.all? { |owner, names, witness| names.all? { |name| original?(owner, name, witness) } } &&
              ActiveSupport::Notifications.notifier.respond_to?(:all_listeners_for) &&
              %i[group_class delegate silenceable].all? { |name| SUBSCRIBER.method_defined?(name) }
          end

          private

          # The owners of methods, and a method that nobody replaces, whose file the others must share.
          def watched = [stores, *events]

          def stores
            @stores_methods ||= [ActiveSupport::Cache::Store, Conditions::FRONTS + Conditions::HOOKS, :initialize]
          end

          def events
            notifications = ActiveSupport::Notifications
            @events ||= [
              [ActiveSupport::Cache::Store, Conditions::INSTRUMENTS, :initialize],
              [notifications.singleton_class, %i[instrument], :publish],
              [notifications::Instrumenter, %i[instrument], :initialize],
              [notifications::Fanout, %i[build_handle groups_for all_listeners_for], :initialize],
              [notifications::Fanout::Handle, %i[start finish finish_with_values], :initialize],
            ].freeze
          end

          def original?(owner, name, witness)
            return true unless owner.method_defined?(name) || owner.private_method_defined?(name)
            method = owner.instance_method(name)
            file = owner.instance_method(witness).source_location&.first
            method.owner == owner && method.source_location&.first == file
          end
        end

        # For a class, of its own singleton: tells of modules that come, and of methods that come and go. Its
        # subclasses, and the singleton classes of their instances, inherit it.
        module Noticing
          # See Module#prepend.
          def prepend(*) = super.tap { Patches.recheck }

          # See Module#include.
          def include(*) = super.tap { Patches.recheck }

          private

          def method_added(name) = Patches.changed(name) || super
          def method_removed(name) = Patches.changed(name) || super
          def method_undefined(name) = Patches.changed(name) || super
        end

        # The same, of any method.
        module NoticingAll
          include Noticing

          private

          def method_added(name) = super.tap { Patches.recheck }
        end

        # For an object: tells of its singleton methods.
        module NoticingSingletons
          private

          def singleton_method_added(name) = Patches.changed(name) || super
          def singleton_method_removed(name) = Patches.changed(name) || super
          def singleton_method_undefined(name) = Patches.changed(name) || super
        end

        # For ActiveSupport::Notifications: tells of another notifier, which may be none of Rails' own class.
        module NoticingNotifier
          # @param notifier [Object]
          def notifier=(notifier)
            super.tap { Patches.recheck }
          end
        end
      end
    end
  end
end
