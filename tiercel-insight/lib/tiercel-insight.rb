# frozen_string_literal: true

require "tiercel/insight"
